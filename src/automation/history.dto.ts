import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { IsString } from 'class-validator';
import type { FastifyRequest } from 'fastify';
import { BadRequest } from '../platform/http/index.js';

export class RestoreNoteRequest {
  @IsString({ message: 'versionId must be a text' })
  versionId: string;
}

/** Optional `version`: the id of one version. */
export const VersionQuery = createParamDecorator((_: unknown, context: ExecutionContext) => {
  const { version } = context.switchToHttp().getRequest<FastifyRequest>().query as { version?: unknown };
  if (version === undefined || typeof version === 'string') return version;
  throw new BadRequest('version must be the id of one version');
});
