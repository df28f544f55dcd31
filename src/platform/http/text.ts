import { Transform } from 'class-transformer';
import { Matches, ValidateBy } from 'class-validator';
import { isInstant } from '../clock/index.js';

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
