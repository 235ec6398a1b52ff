// Lint rules: typescript-eslint's strict set with types, and Solid's rules for what must stay reactive.
import js from '@eslint/js';
import solid from 'eslint-plugin-solid/configs/typescript';
import globals from 'globals';
import ts from 'typescript-eslint';

export default ts.config(
  { ignores: ['dist', 'node_modules', 'e2e/shots'] },
  js.configs.recommended,
  {
    files: ['**/*.{ts,tsx}'],
    extends: [...ts.configs.strictTypeChecked, ...ts.configs.stylisticTypeChecked, solid],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
      '@typescript-eslint/consistent-type-imports': 'error',
      'no-restricted-properties': [
        'error',
        { property: 'innerHTML', message: 'Data never becomes markup.' },
        { property: 'outerHTML', message: 'Data never becomes markup.' },
        { property: 'insertAdjacentHTML', message: 'Data never becomes markup.' },
      ],
      'solid/no-innerhtml': ['error', { allowStatic: false }],
      'solid/reactivity': ['error', { customReactiveFunctions: ['track', 'createQuery', 'useKeys'] }],
      'no-console': 'error',
      eqeqeq: 'error',
    },
  },
  { files: ['**/*.{js,mjs}'], languageOptions: { globals: { ...globals.node, ...globals.browser } } },
);
