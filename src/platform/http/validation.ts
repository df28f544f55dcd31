import { ValidationPipe, type ValidationError } from '@nestjs/common';
import { BadRequest } from './errors.js';

/**
 * Validates bodies against their classes (`JsonBody`); other input has decorators that refuse it themselves. Keys that a
 * class does not declare are dropped, so a request can set nothing but what its route offers.
 */
export const validation = new ValidationPipe({
  whitelist: true,
  transform: true,
  validateCustomDecorators: true,
  stopAtFirstError: true,
  exceptionFactory: (errors) => new BadRequest(firstMessage(errors)),
});

function firstMessage(errors: ValidationError[]): string {
  const [error] = errors;
  if (!error) return 'the request is not valid';
  const [message] = Object.values(error.constraints ?? {});
  return message ?? firstMessage(error.children ?? []);
}
