import { randomUUID } from 'node:crypto';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Translates between ids and secrets of the service and names of the model. */
export class Names {
  private readonly ids = new Map<string, string>();
  private readonly names = new Map<string, string>();

  /** Links a name and an id, unless one of them is linked already. */
  learn(name: string, id: unknown): void {
    if (typeof id !== 'string' || this.ids.has(name) || this.names.has(id)) return;
    this.ids.set(name, id);
    this.names.set(id, name);
  }

  areKnown(names: readonly string[]): boolean {
    return names.every((name) => this.ids.has(name));
  }

  /** The id of a name; for an unknown name, an id that nothing has. */
  idOf(name: string): string {
    return this.ids.get(name) ?? randomUUID();
  }

  /** Replaces all known ids in a value by names. */
  inWords(value: unknown): unknown {
    if (typeof value === 'string') return this.names.get(value) ?? value;
    if (Array.isArray(value)) return value.map((item) => this.inWords(item));
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.inWords(item)]));
  }

  /** Whether a value has no id left. */
  areAllNamed(words: unknown): boolean {
    if (typeof words === 'string') return !UUID.test(words);
    if (words === null || typeof words !== 'object') return true;
    return Object.values(words).every((item) => this.areAllNamed(item));
  }
}
