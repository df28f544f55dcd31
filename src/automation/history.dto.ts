import { IsString } from 'class-validator';
import { BadRequest, fromRequest } from '../platform/http/index.js';

export class RestoreNoteRequest {
  @IsString({ message: 'versionId must be a text' })
  versionId: string;
}

/** Optional `version`: the id of one version. */
export const VersionQuery = fromRequest(({ query }) => {
  const { version } = query as { version?: unknown };
  if (version === undefined || typeof version === 'string') return version;
  throw new BadRequest('version must be the id of one version');
});
