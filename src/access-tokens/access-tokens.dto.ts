import { Transform } from 'class-transformer';
import { ArrayNotEmpty, IsArray, IsIn, IsISO8601, IsOptional, IsUUID, Matches } from 'class-validator';
import { type Scope, SCOPES } from '../auth/index.js';

/** Counts code points, as the table's own constraint does (`@Length` does not); half a surrogate pair is no text. */
const NAME = /^[^\p{Cc}\p{Cs}]{1,255}$/u;
/** ISO 8601 has more (weeks, days of the year, signed years), which `Date` would read as another day. */
const CALENDAR_TIME = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d:?\d\d)?)?$/;

const trimmed = Transform(({ value }: { value: unknown }) =>
  typeof value === 'string' ? value.trim() : value,
);

export class MintTokenRequest {
  @trimmed
  @Matches(NAME, { message: 'name must be 1 to 255 characters, without control characters' })
  name: string;

  @IsOptional()
  @IsISO8601({ strict: true }, { message: 'expiresAt must be an ISO 8601 time' })
  @Matches(CALENDAR_TIME, { message: 'expiresAt must be an ISO 8601 time' })
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
