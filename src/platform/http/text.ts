import { Transform } from 'class-transformer';
import { Matches, ValidateBy } from 'class-validator';
import { isUtf8 } from 'node:buffer';
import { isInstant } from '../clock/index.js';
import { BadRequest } from './api-errors.js';

const MAX_NAME = 255;

const patternOf = (max: number): RegExp => new RegExp(`^[^\\p{Cc}\\p{Cs}]{1,${max}}$`, 'u');

const PATTERN = patternOf(MAX_NAME);

/** What a name must be, to follow its field's in a sentence. */
export const NAME_RULE = `must be 1 to ${MAX_NAME} characters, without control characters`;

/** A name that people give, as it is stored: trimmed; undefined for what is none. The rule of `IsName`. */
export function asName(value: unknown): string | undefined {
  const name = typeof value === 'string' ? value.trim() : '';
  return PATTERN.test(name) ? name : undefined;
}

/**
 * A name that people give: trimmed, 1 to `max` characters, none of them control characters. Counts code points, as the
 * tables' own constraints do (`@Length` does not); half a surrogate pair is no text.
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

/** A calendar date, or a date with a time, in ISO 8601; for `parseInstant`. */
export function IsInstant(): PropertyDecorator {
  return ValidateBy(
    { name: 'isInstant', validator: { validate: isInstant } },
    { message: '$property must be an ISO 8601 time' },
  );
}

/**
 * The text of a request body. A decoder would replace each byte that is not UTF-8 by the same character, and different
 * texts, passwords among them, would become one. @throws BadRequest
 */
export function utf8Of(body: Buffer): string {
  if (!isUtf8(body)) throw new BadRequest('the request body is not UTF-8');
  return body.toString('utf8');
}

const ENCODED_BYTE = /%([0-9a-f]{2})/gi;

/** Whether a query, or a form, is UTF-8 once its percent-encoding is decoded. A lone `%` stands for itself. */
export function isEncodedUtf8(text: string): boolean {
  if (!text.includes('%')) return true;
  const characterPerByte = Buffer.from(text, 'utf8').toString('latin1');
  const decoded = characterPerByte.replace(ENCODED_BYTE, (_, byte: string) =>
    String.fromCharCode(parseInt(byte, 16)),
  );
  return isUtf8(Buffer.from(decoded, 'latin1'));
}
