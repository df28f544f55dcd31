import { ArrayNotEmpty, IsArray, IsIn, IsOptional, IsUUID } from 'class-validator';
import { type Scope, SCOPES } from '../access/index.js';
import { IsInstant, IsName } from '../platform/http/index.js';

export class MintTokenRequest {
  @IsName()
  name: string;

  @IsOptional()
  @IsInstant()
  expiresAt?: string | null;

  @IsOptional()
  @IsIn(SCOPES, { each: true, message: `scopes must be among ${SCOPES.join(', ')}` })
  @ArrayNotEmpty()
  @IsArray()
  scopes?: Scope[] | null;

  @IsOptional()
  @IsUUID()
  workspaceId?: string | null;
}
