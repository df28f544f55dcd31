import { isUtf8 } from 'node:buffer';
import { Transform } from 'class-transformer';
import { Matches, ValidateBy } from 'class-validator';
import { isInstant } from '../clock.js';
import { BadRequest } from './api-errors.js';

const MAX_NAME = 255;

const patternOf = (max: number): RegExp => new RegExp(`^[^\\p{Cc}\\p{Cs}]{1,${max}}$`, 'u');

const PATTERN = patternOf(MAX_NAME);

/** The requirement for a name, to be appended to its field in a sentence. */
export const NAME_RULE = `must be 1 to ${MAX_NAME} characters, without control characters`;

/** Normalizes a name given by a user: trims it; returns undefined if it is invalid. The same rule as `IsName`. */
export function asName(value: unknown): string | undefined {
  const name = typeof value === 'string' ? value.trim() : '';
  return PATTERN.test(name) ? name : undefined;
}

/**
 * A name given by a user: trimmed, 1 to `max` characters, no control characters. Counts code points, as the tables'
 * constraints do (`@Length` does not); lone surrogates are invalid.
 */
export function IsName(max = MAX_NAME): PropertyDecorator {
  const name = patternOf(max);
  const trim = Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' ? value.trim() : value,
  );
  const matches = Matches(name, {
    message: `$property must be 1 to ${max} characters, without control characters`,
  });
  return (target, property) => {
    trim(target, property);
    matches(target, property);
  };
}

/** An ISO 8601 calendar date, with or without a time; for `parseInstant`. */
export function IsInstant(): PropertyDecorator {
  return ValidateBy(
    { name: 'isInstant', validator: { validate: isInstant } },
    { message: '$property must be an ISO 8601 time' },
  );
}

/**
 * Decodes the text of a request body. A lenient decoder would replace every invalid byte with the same character, and
 * different texts, such as passwords, would become equal.
 * @throws BadRequest
 */
export function utf8Of(body: Buffer): string {
  if (!isUtf8(body)) throw new BadRequest('the request body is not UTF-8');
  return body.toString('utf8');
}

const ENCODED_BYTE = /%([0-9a-f]{2})/gi;

/** Whether a query or form is UTF-8 after percent-decoding. A lone `%` stands for itself. */
export function isEncodedUtf8(text: string): boolean {
  if (!text.includes('%')) return true;
  const characterPerByte = Buffer.from(text, 'utf8').toString('latin1');
  const decoded = characterPerByte.replace(ENCODED_BYTE, (_, byte: string) =>
    String.fromCharCode(parseInt(byte, 16)),
  );
  return isUtf8(Buffer.from(decoded, 'latin1'));
}

/** A request's share of a limited total: taken while there is work for it, given back while its client is silent. */
export interface Place {
  /**
   * Takes or keeps the place, for this many more bytes. If it returns a promise, the caller must await it before it continues.
   * @throws when no place is free; a returned promise rejects likewise
   */
  work(bytes: number): Promise<void> | undefined;
  /** Gives the place back. Must not be called while `work` is pending. */
  rest(): void;
}

/** A place that takes both, in this order. */
export const placesOf = (first: Place, second: Place): Place => ({
  work: (bytes) => {
    const taken = first.work(bytes);
    return taken ? taken.then(() => second.work(bytes)) : second.work(bytes);
  },
  rest: () => {
    second.rest();
    first.rest();
  },
});

/** A slot of a queue as a place. Other work of the request shares the slot through `during`. Call `rest` at the end. */
export class WorkSlot implements Place {
  private users = 0;
  private isAtWork = false;
  private taken: Promise<() => void> | undefined;

  /** @param take resolves with a function that releases the slot */
  constructor(private readonly take: () => Promise<() => void>) {}

  work(): Promise<void> | undefined {
    if (this.isAtWork) return undefined;
    this.isAtWork = true;
    return this.enter().catch((error: unknown) => {
      this.isAtWork = false;
      throw error;
    });
  }

  rest(): void {
    if (!this.isAtWork) return;
    this.isAtWork = false;
    this.leave();
  }

  /** @throws as `take`, and the errors of `use` */
  async during<T>(use: () => Promise<T>): Promise<T> {
    await this.enter();
    try {
      return await use();
    } finally {
      this.leave();
    }
  }

  private async enter(): Promise<void> {
    this.users++;
    this.taken ??= this.take();
    try {
      await this.taken;
    } catch (error) {
      this.leave();
      throw error;
    }
  }

  private leave(): void {
    if (--this.users > 0) return;
    const { taken } = this;
    this.taken = undefined;
    void taken?.then(
      (release) => release(),
      () => undefined,
    );
  }
}
