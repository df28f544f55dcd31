import { randomUUID } from 'node:crypto';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** What the service calls by ids, and gives raw once, the model calls by names. */
export class Names {
  private readonly ids = new Map<string, string>();
  private readonly names = new Map<string, string>();

  /** A name and an id stand for each other from now on, unless one of them is taken: then the id stays what it is. */
  learn(name: string, id: unknown): void {
    if (typeof id !== 'string' || this.ids.has(name) || this.names.has(id)) return;
    this.ids.set(name, id);
    this.names.set(id, name);
  }

  areKnown(names: readonly string[]): boolean {
    return names.every((name) => this.ids.has(name));
  }

  /** Of what was never there, an id that nothing has. */
  idOf(name: string): string {
    return this.ids.get(name) ?? randomUUID();
  }

  /** All that is known by a name, by that name. */
  inWords(value: unknown): unknown {
    if (typeof value === 'string') return this.names.get(value) ?? value;
    if (Array.isArray(value)) return value.map((item) => this.inWords(item));
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.inWords(item)]));
  }

  /** Whether no id is left in it. */
  areAllNamed(words: unknown): boolean {
    if (typeof words === 'string') return !UUID.test(words);
    if (words === null || typeof words !== 'object') return true;
    return Object.values(words).every((item) => this.areAllNamed(item));
  }
}
