// Taking things out of the page: CSV, the clipboard, files.

/** One CSV cell; text that a spreadsheet would run as a formula is made plain. */
function csvCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  let text = typeof value === 'string' ? value : JSON.stringify(value);
  if (typeof value === 'string' && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

export function toCsv(columns: readonly string[], rows: Iterable<readonly unknown[]>): string {
  const lines = [columns.map(csvCell).join(',')];
  for (const row of rows) lines.push(row.map(csvCell).join(','));
  return `${lines.join('\n')}\n`;
}

export function download(name: string, content: Blob | string, type = 'text/plain'): void {
  const blob = typeof content === 'string' ? new Blob([content], { type }) : content;
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Copies text; over plain http from another machine browsers have no clipboard, so an old way is tried. */
export async function copyText(text: string): Promise<boolean> {
  // Typed as always there, and absent outside of secure contexts.
  const clipboard = navigator.clipboard as Clipboard | undefined;
  if (clipboard) {
    try {
      await clipboard.writeText(text);
      return true;
    } catch {
      // Not allowed: the old way may be.
    }
  }
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'visually-hidden';
  (document.querySelector('dialog[open]') ?? document.body).append(area);
  area.select();
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- the only way outside of secure contexts
  const done = document.execCommand('copy');
  area.remove();
  return done;
}

/** Copies a picture, or where that is not allowed saves it. */
export async function copyPng(blob: Blob, name: string): Promise<'copied' | 'saved'> {
  const clipboard = navigator.clipboard as Clipboard | undefined;
  try {
    if (clipboard && typeof ClipboardItem !== 'undefined') {
      await clipboard.write([new ClipboardItem({ 'image/png': blob })]);
      return 'copied';
    }
  } catch {
    // Saved instead.
  }
  download(name, blob);
  return 'saved';
}
