import { ValidateBy } from 'class-validator';

/** One sentence says all that is expected; `@IsInt`, `@Min` and `@Max` would say what a word has least to do with. */
export function WholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): PropertyDecorator {
  return ValidateBy({
    name: 'wholeNumber',
    validator: {
      validate: (value) => Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max,
      defaultMessage: () => `$property must be a whole number from ${min} to ${max}`,
    },
  });
}
