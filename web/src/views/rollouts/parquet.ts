// Writes a flat table as one Parquet file: one row group, plain pages, optional columns, no compression. Small on
// purpose: what a step's summary needs (the format's specification is Apache Parquet's; the footer is Thrift compact).

type Cell = string | number | boolean | null;

type Physical = 'BOOLEAN' | 'INT64' | 'DOUBLE' | 'BYTE_ARRAY';
const TYPE: Readonly<Record<Physical, number>> = { BOOLEAN: 0, INT64: 2, DOUBLE: 5, BYTE_ARRAY: 6 };

/** Bytes that grow. */
class Out {
  private data = new Uint8Array(1 << 12);
  length = 0;
  private room(n: number): void {
    if (this.length + n <= this.data.length) return;
    const bigger = new Uint8Array(Math.max(this.data.length * 2, this.length + n));
    bigger.set(this.data.subarray(0, this.length));
    this.data = bigger;
  }
  byte(value: number): void {
    this.room(1);
    this.data[this.length] = value;
    this.length += 1;
  }
  bytes(values: Uint8Array): void {
    this.room(values.length);
    this.data.set(values, this.length);
    this.length += values.length;
  }
  u32(value: number): void {
    for (let shift = 0; shift < 32; shift += 8) this.byte((value >>> shift) & 255);
  }
  varint(value: number): void {
    let left = value;
    while (left >= 128) {
      this.byte((left % 128) | 128);
      left = Math.floor(left / 128);
    }
    this.byte(left);
  }
  taken(): Uint8Array<ArrayBuffer> {
    return this.data.slice(0, this.length);
  }
}

/** Thrift compact structs: fields in ascending order of their ids. */
class Struct {
  private last = 0;
  constructor(private readonly out: Out) {}
  private head(id: number, type: number): void {
    this.out.byte(((id - this.last) << 4) | type);
    this.last = id;
  }
  i32(id: number, value: number): this {
    this.head(id, 5);
    this.out.varint(value * 2);
    return this;
  }
  i64(id: number, value: number): this {
    this.head(id, 6);
    this.out.varint(value * 2);
    return this;
  }
  text(id: number, value: string): this {
    this.head(id, 8);
    writeText(this.out, value);
    return this;
  }
  list<T>(id: number, type: number, items: readonly T[], write: (item: T) => void): this {
    this.head(id, 9);
    if (items.length < 15) this.out.byte((items.length << 4) | type);
    else {
      this.out.byte(0xf0 | type);
      this.out.varint(items.length);
    }
    items.forEach(write);
    return this;
  }
  struct(id: number, write: (inner: Struct) => void): this {
    this.head(id, 12);
    nested(this.out, write);
    return this;
  }
  end(): void {
    this.out.byte(0);
  }
}

function nested(out: Out, write: (inner: Struct) => void): void {
  const inner = new Struct(out);
  write(inner);
  inner.end();
}

function writeText(out: Out, text: string): void {
  const bytes = new TextEncoder().encode(text);
  out.varint(bytes.length);
  out.bytes(bytes);
}

const I32 = 5;
const BINARY = 8;
const STRUCT = 12;

function physical(values: readonly Cell[]): Physical {
  const there = values.filter((value) => value !== null);
  if (there.length > 0 && there.every((value) => typeof value === 'boolean')) return 'BOOLEAN';
  if (there.every((value) => typeof value === 'number')) {
    return there.length > 0 && there.every((value) => Number.isSafeInteger(value)) ? 'INT64' : 'DOUBLE';
  }
  return 'BYTE_ARRAY';
}

/** Levels 1 (there) and 0 (null) as one bit-packed run, with its length before it. */
function levels(values: readonly Cell[]): Uint8Array {
  const groups = Math.ceil(values.length / 8);
  const run = new Out();
  run.varint(groups * 2 + 1);
  for (let at = 0; at < groups; at += 1) {
    let bits = 0;
    for (let bit = 0; bit < 8; bit += 1) if ((values[at * 8 + bit] ?? null) !== null) bits |= 1 << bit;
    run.byte(bits);
  }
  const out = new Out();
  out.u32(run.length);
  out.bytes(run.taken());
  return out.taken();
}

function plain(type: Physical, values: readonly Cell[]): Uint8Array {
  const there = values.filter((value) => value !== null);
  const out = new Out();
  if (type === 'BOOLEAN') {
    for (let at = 0; at < there.length; at += 8) {
      let bits = 0;
      for (let bit = 0; bit < 8; bit += 1) if (there[at + bit] === true) bits |= 1 << bit;
      out.byte(bits);
    }
  } else if (type === 'BYTE_ARRAY') {
    for (const value of there) {
      const bytes = new TextEncoder().encode(String(value));
      out.u32(bytes.length);
      out.bytes(bytes);
    }
  } else {
    const bytes = new Uint8Array(8);
    const view = new DataView(bytes.buffer);
    for (const value of there) {
      if (type === 'DOUBLE') view.setFloat64(0, Number(value), true);
      else view.setBigInt64(0, BigInt(Number(value)), true);
      out.bytes(bytes);
    }
  }
  return out.taken();
}

/** The file. Every row has a cell for every column. */
export function toParquet(
  columns: readonly string[],
  rows: readonly (readonly Cell[])[],
): Uint8Array<ArrayBuffer> {
  const out = new Out();
  const magic = new TextEncoder().encode('PAR1');
  out.bytes(magic);
  const chunks = columns.map((name, at) => {
    const values = rows.map((row) => row[at] ?? null);
    const type = physical(values);
    const body = new Out();
    body.bytes(levels(values));
    body.bytes(plain(type, values));
    const offset = out.length;
    nested(out, (page) =>
      page
        .i32(1, 0) // data page
        .i32(2, body.length)
        .i32(3, body.length)
        // Plain values, levels as runs.
        .struct(5, (data) => data.i32(1, values.length).i32(2, 0).i32(3, 3).i32(4, 3)),
    );
    out.bytes(body.taken());
    return { name, type, offset, size: out.length - offset };
  });
  const footer = new Out();
  nested(footer, (file) =>
    file
      .i32(1, 1)
      .list(2, STRUCT, ['schema', ...chunks], (element) => {
        nested(footer, (schema) => {
          if (typeof element === 'string') schema.text(4, element).i32(5, chunks.length);
          else {
            schema.i32(1, TYPE[element.type]).i32(3, 1).text(4, element.name);
            if (element.type === 'BYTE_ARRAY') schema.i32(6, 0); // UTF-8
          }
        });
      })
      .i64(3, rows.length)
      .list(4, STRUCT, [chunks], (all) => {
        nested(footer, (group) =>
          group
            .list(1, STRUCT, all, (chunk) => {
              nested(footer, (column) =>
                column.i64(2, chunk.offset).struct(3, (meta) =>
                  meta
                    .i32(1, TYPE[chunk.type])
                    .list(2, I32, [0, 3], (encoding) => footer.varint(encoding * 2))
                    .list(3, BINARY, [chunk.name], (name) => writeText(footer, name))
                    .i32(4, 0)
                    .i64(5, rows.length)
                    .i64(6, chunk.size)
                    .i64(7, chunk.size)
                    .i64(9, chunk.offset),
                ),
              );
            })
            .i64(
              2,
              all.reduce((sum, chunk) => sum + chunk.size, 0),
            )
            .i64(3, rows.length),
        );
      })
      .text(6, 'miles serve'),
  );
  out.bytes(footer.taken());
  out.u32(footer.length);
  out.bytes(magic);
  return out.taken();
}
