import type { ApiDocument, Schema } from '../../../src/platform/api-docs/index.js';
import { FORMATS, ODD_NUMBERS, ODD_TEXTS, RAW_JSON } from './words.js';
import type { Random } from '../random.js';

/** Existing objects, by the parameter that refers to them. */
export type Known = (name: string) => readonly unknown[];

const MARK = '\u0001raw\u0001';

/** Generates values for schemas from one random generator. */
export class Values {
  constructor(
    private readonly random: Random,
    private readonly document: ApiDocument,
    private readonly known: Known,
  ) {}

  chance(probability: number): boolean {
    return this.random.next() < probability;
  }

  pick<T>(items: readonly T[]): T {
    return this.random.pick(items);
  }

  below(n: number): number {
    return this.random.below(n);
  }

  /** A value that the schema accepts, as far as it says. @param name of the property or parameter */
  valid(schema: Schema, name = ''): unknown {
    const known = this.known(name);
    if (known.length > 0 && this.chance(0.9)) return this.pick(known);
    const one = this.resolved(schema);
    if (one.const !== undefined) return one.const;
    if (Array.isArray(one.enum)) return this.pick(one.enum as unknown[]);
    if (Array.isArray(one.anyOf)) return this.valid(this.pick(one.anyOf as Schema[]), name);
    const type = [one.type].flat().filter((any) => any !== 'null' || this.chance(0.2));
    switch (type.includes('null') ? 'null' : (type[0] ?? 'object')) {
      case 'null':
        return null;
      case 'string':
        return this.text(one);
      case 'integer':
        return this.number(one);
      case 'number':
        return this.pick([...ODD_NUMBERS, 0.5, -1, 1e308, 5e-324]);
      case 'boolean':
        return this.chance(0.5);
      case 'array':
        return this.array(one, name);
      default:
        return this.object(one);
    }
  }

  /** A value that no schema allows. */
  hostile(): unknown {
    const make = this.pick<() => unknown>([
      () => this.pick([null, true, false, 0, -1, 1.5, -0.1, 1e308, 2 ** 53, '', 'NaN', '0', 'null']),
      () => this.pick(ODD_TEXTS),
      () => `${this.pick(ODD_TEXTS)}\u0000`,
      () => this.pick(['\ud800', 'a\udfff', '\u0000', '\r\n', '\u001b[2J', '<script>', '../../etc/passwd']),
      () =>
        this.pick<unknown>([
          [],
          {},
          [null],
          [[]],
          [{}],
          { length: 1 },
          { toString: 1 },
          { then: 1 },
          { $ne: null },
        ]),
      () => MARK + String(this.below(RAW_JSON.length)),
      () => (this.chance(0.1) ? 'x'.repeat(100_000) : 'y'.repeat(this.below(9000))),
      () => (this.chance(0.1) ? Array<number>(10_000).fill(0) : Array<string>(this.below(50)).fill('a')),
      () => nested(this.pick([5, 31, 32, 33, 64, 1000]), this.chance(0.5)),
    ]);
    return make();
  }

  private text({ pattern, format, minLength, maxLength }: Schema): string {
    const ofFormat = typeof format === 'string' ? FORMATS[format] : undefined;
    if (ofFormat) return this.pick(ofFormat);
    const isFit = typeof pattern === 'string' ? matcher(pattern) : () => true;
    const fit = ODD_TEXTS.filter(
      (text) =>
        isFit(text) && text.length >= Number(minLength ?? 0) && text.length <= Number(maxLength ?? Infinity),
    );
    return fit.length > 0 ? this.pick(fit) : 'a';
  }

  private number({ minimum, maximum }: Schema): number {
    const least = Number(minimum ?? Number.MIN_SAFE_INTEGER);
    const most = Number(maximum ?? Number.MAX_SAFE_INTEGER);
    if (this.chance(0.6)) return Math.min(most, Math.max(least, this.below(12)));
    return this.pick([...ODD_NUMBERS, least, most].filter((number) => number >= least && number <= most));
  }

  private array({ items, minItems, maxItems }: Schema, name: string): unknown[] {
    const most = Number(maxItems ?? 3);
    const length = this.chance(0.03) ? most : Math.min(most, Number(minItems ?? 0) + this.below(4));
    const one = (): unknown => this.valid((items ?? {}) as Schema, name);
    return length > 50 ? Array<unknown>(length).fill(one()) : Array.from({ length }, one);
  }

  private object({ properties = {}, required = [] }: Schema): Record<string, unknown> {
    const entries = Object.entries(properties as Record<string, Schema>)
      .filter(([key]) => (required as string[]).includes(key) || this.chance(0.5))
      .map(([key, schema]) => [key, this.valid(schema, key)]);
    return Object.fromEntries(entries) as Record<string, unknown>;
  }

  private resolved(schema: Schema): Schema {
    const reference = schema.$ref;
    if (typeof reference !== 'string') return schema;
    return this.document.components.schemas[reference.slice(reference.lastIndexOf('/') + 1)] ?? {};
  }
}

/** JSON, including values that JSON.stringify cannot write. */
export function jsonOf(value: unknown): string {
  const text = JSON.stringify(value);
  return text.replace(/"\\u0001raw\\u0001(\d+)"/g, (_, index: string) => RAW_JSON[Number(index)] ?? '');
}

/** The value in a header or an address. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value.replaceAll(MARK, '');
  return value === undefined ? '' : JSON.stringify(value).slice(0, 2000);
}

/** Without unpaired surrogates, which a URL cannot contain. */
export const wellFormed = (text: string): string => text.replace(/\p{Cs}/gu, '\ufffd');

function nested(depth: number, isArray: boolean): unknown {
  let value: unknown = 'bottom';
  for (let level = 0; level < depth; level++) value = isArray ? [value] : { a: value };
  return value;
}

const matchers = new Map<string, (text: string) => boolean>();

function matcher(pattern: string): (text: string) => boolean {
  let matches = matchers.get(pattern);
  if (!matches) {
    const expression = new RegExp(pattern, 'u');
    const fit = new Set(ODD_TEXTS.filter((text) => expression.test(text)));
    matchers.set(pattern, (matches = (text) => fit.has(text)));
  }
  return matches;
}
