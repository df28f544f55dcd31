import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';

/** Makes the decorator of a handler's parameter. @param read gives its value, or throws what the caller is answered */
export const fromRequest = (read: (request: FastifyRequest) => unknown): (() => ParameterDecorator) =>
  createParamDecorator((_: unknown, context: ExecutionContext) => read(context.switchToHttp().getRequest()));
