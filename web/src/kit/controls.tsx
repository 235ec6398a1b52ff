// Small controls. Each is the native element with our looks, so that keyboards and screen readers know it.

import { For, Show, splitProps, type JSX } from 'solid-js';

type ButtonProps = JSX.ButtonHTMLAttributes<HTMLButtonElement> & {
  /** `quiet` has no border until it is pointed at. */
  readonly look?: 'normal' | 'quiet' | 'primary';
  /** A toggle that is on. */
  readonly pressed?: boolean | undefined;
  /** A line on hover. */
  readonly tip?: string | undefined;
};

export function Button(props: ButtonProps): JSX.Element {
  const [own, rest] = splitProps(props, ['look', 'pressed', 'tip', 'class']);
  return (
    <button
      type="button"
      {...rest}
      class={`k-button k-button-${own.look ?? 'normal'} ${own.class ?? ''}`}
      aria-pressed={own.pressed}
      data-tip={own.tip}
    />
  );
}

/** A button that shows a sign; `label` is what it does. */
export function IconButton(
  props: Omit<ButtonProps, 'tip' | 'aria-label'> & { readonly label: string; readonly hint?: string },
): JSX.Element {
  const [own, rest] = splitProps(props, ['label', 'hint', 'class']);
  return (
    <Button
      look="quiet"
      {...rest}
      class={`k-icon ${own.class ?? ''}`}
      aria-label={own.label}
      tip={own.hint === undefined ? own.label : `${own.label} (${own.hint})`}
    />
  );
}

export interface Option<T extends string> {
  readonly value: T;
  readonly label: string;
  readonly tip?: string;
}

/** A choice among many, as a native select. */
export function Select<T extends string>(props: {
  readonly label: string;
  readonly options: readonly Option<T>[];
  readonly value: T;
  readonly onChange: (value: T) => void;
  readonly showLabel?: boolean;
}): JSX.Element {
  return (
    <label class="k-field">
      <span classList={{ 'visually-hidden': props.showLabel !== true }}>{props.label}</span>
      <select
        class="k-select"
        onChange={(event) => {
          props.onChange(event.currentTarget.value as T);
          event.currentTarget.value = props.value;
        }}
      >
        <For each={props.options}>
          {(option) => (
            <option value={option.value} selected={option.value === props.value}>
              {option.label}
            </option>
          )}
        </For>
      </select>
    </label>
  );
}

/** A choice among few, all shown. Arrow keys move it as in any radio group. */
export function Segmented<T extends string>(props: {
  readonly label: string;
  readonly options: readonly Option<T>[];
  readonly value: T;
  readonly onChange: (value: T) => void;
}): JSX.Element {
  const name = `seg-${(nextName += 1)}`;
  return (
    <fieldset class="k-segmented">
      <legend class="visually-hidden">{props.label}</legend>
      <For each={props.options}>
        {(option) => (
          <label data-tip={option.tip}>
            <input
              class="visually-hidden"
              type="radio"
              name={name}
              value={option.value}
              checked={option.value === props.value}
              onChange={() => props.onChange(option.value)}
            />
            <span>{option.label}</span>
          </label>
        )}
      </For>
    </fieldset>
  );
}
let nextName = 0;

export function Checkbox(props: {
  readonly label: JSX.Element;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly tip?: string;
}): JSX.Element {
  return (
    <label class="k-check" data-tip={props.tip}>
      <input
        type="checkbox"
        checked={props.checked}
        onChange={(event) => props.onChange(event.currentTarget.checked)}
      />
      <span>{props.label}</span>
    </label>
  );
}

/** A text field that filters while it is typed into; Escape empties it, then leaves it. */
export function SearchField(props: {
  readonly label: string;
  readonly placeholder?: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly invalid?: string | undefined;
  /** `/` leads here. */
  readonly search?: boolean;
}): JSX.Element {
  return (
    <input
      class="k-input"
      type="search"
      data-search={props.search === true ? '' : undefined}
      aria-label={props.label}
      aria-invalid={props.invalid !== undefined}
      data-tip={props.invalid}
      placeholder={props.placeholder ?? props.label}
      value={props.value}
      spellcheck={false}
      autocomplete="off"
      onInput={(event) => props.onInput(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        if (props.value === '') event.currentTarget.blur();
        else props.onInput('');
      }}
    />
  );
}

export type Tone = 'neutral' | 'accent' | 'critical' | 'warning' | 'info' | 'good';

/** A short fact with its name, such as a status; with `onRemove` it can be taken away. */
export function Chip(props: {
  readonly tone?: Tone;
  readonly name?: string;
  readonly tip?: string | undefined;
  readonly onRemove?: () => void;
  readonly children: JSX.Element;
}): JSX.Element {
  return (
    <span class={`k-chip k-tone-${props.tone ?? 'neutral'}`} data-tip={props.tip}>
      <Show when={props.name}>{(name) => <span class="k-chip-name">{name()}</span>}</Show>
      <span>{props.children}</span>
      <Show when={props.onRemove}>
        {(remove) => (
          <button type="button" class="k-chip-remove" aria-label="remove" onClick={() => remove()()}>
            ×
          </button>
        )}
      </Show>
    </span>
  );
}
