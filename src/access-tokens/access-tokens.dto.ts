import { Transform } from 'class-transformer';
import {
  ArrayNotEmpty,
  IsArray,
  IsIn,
  IsISO8601,
  IsOptional,
  IsString,
  IsUUID,
  Length,
  Matches,
} from 'class-validator';
import { type Scope, SCOPES } from '../auth/index.js';

const trimmed = Transform(({ value }: { value: unknown }) =>
  typeof value === 'string' ? value.trim() : value,
);

export class MintTokenRequest {
  @trimmed
  @IsString()
  @Length(1, 255)
  @Matches(/^\P{Cc}*$/u, { message: 'name must not contain control characters' })
  name: string;

  @IsOptional()
  @IsISO8601({ strict: true, strictSeparator: true })
  expiresAt?: string | null;

  @IsOptional()
  @IsArray()
  @ArrayNotEmpty()
  @IsIn(SCOPES, { each: true, message: `scopes must be among ${SCOPES.join(', ')}` })
  scopes?: Scope[] | null;

  @IsOptional()
  @IsUUID()
  workspaceId?: string | null;
}
