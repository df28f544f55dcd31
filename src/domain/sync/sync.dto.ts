import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsInt,
  IsNumber,
  IsObject,
  IsOptional,
  IsString,
  isUUID,
  Matches,
  Max,
  Min,
  ValidateBy,
  ValidateNested,
} from 'class-validator';
import { DEVICE_ID, DEVICE_ID_RULE } from '../devices/index.js';
import { CONTENT_HASH, ENCRYPTED_PATH, ENCRYPTED_PATH_RULE } from '../files/index.js';
import { BadRequest } from '../../platform/http/index.js';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;

/** A page size, floored and clamped to 1..1000; 100 when absent. */
export function clampLimit(limit: number | null | undefined): number {
  if (limit === undefined || limit === null || !Number.isFinite(limit)) return DEFAULT_LIMIT;
  return Math.min(Math.max(Math.floor(limit), 1), MAX_LIMIT);
}

/** The same for a query parameter; a value that is not a number counts as absent (snapshot rule 1). */
export function clampTextLimit(text: unknown): number {
  return clampLimit(typeof text === 'string' && text.trim() !== '' ? Number(text) : undefined);
}

/** The `pageCursor` query parameter, a file id; undefined when absent. @throws BadRequest */
export function pageCursorIn(pageCursor: unknown): string | undefined {
  if (pageCursor === undefined || pageCursor === '') return undefined;
  if (!isUUID(pageCursor)) throw new BadRequest('pageCursor must be a file id');
  return pageCursor as string;
}

const ITS_RULE = { message: `deviceId ${DEVICE_ID_RULE}` };

/**
 * class-validator checks the last decorator of a property first, so the type check is the one closest to the
 * property.
 */

export class PushedChange {
  @Matches(ENCRYPTED_PATH, { message: `encryptedPath ${ENCRYPTED_PATH_RULE}` })
  encryptedPath: string;

  @IsString()
  action: string;

  @IsOptional()
  @Matches(CONTENT_HASH, { message: 'contentHash must be 64 hex characters' })
  contentHash?: string | null;

  @IsOptional()
  @Max(Number.MAX_SAFE_INTEGER)
  @Min(0)
  @IsInt()
  encryptedSize?: number | null;
}

/**
 * Push rule 1: a row with any other action rejects the whole push. A row whose action is not a string is a different
 * error.
 */
function DeletionsAlone(): PropertyDecorator {
  const isOther = (row: { action?: unknown } | null): boolean =>
    typeof row?.action === 'string' && row.action !== 'delete';
  return ValidateBy({
    name: 'deletionsAlone',
    validator: {
      validate: (rows) => !(Array.isArray(rows) && rows.some(isOther)),
      defaultMessage: () => 'push accepts delete rows only; content must be uploaded through the file PUT',
    },
  });
}

export class PushRequest {
  // First property, closest decorator: push rule 1 is reported first, whatever else is wrong with the request.
  @Type(() => PushedChange)
  @ValidateNested({ each: true })
  @IsObject({ each: true }) // a null row would pass the nested validation
  @ArrayMaxSize(1000)
  @ArrayMinSize(1)
  @IsArray()
  @DeletionsAlone()
  changes: PushedChange[];

  @Matches(DEVICE_ID, ITS_RULE)
  deviceId: string;

  @Max(Number.MAX_SAFE_INTEGER)
  @Min(0)
  @IsInt()
  baseCursor: number;
}

export class PullRequest {
  @Matches(DEVICE_ID, ITS_RULE)
  deviceId: string;

  @Max(Number.MAX_SAFE_INTEGER)
  @Min(0)
  @IsInt()
  cursor: number;

  @IsOptional()
  @IsNumber({}, { message: 'limit must be a number' })
  limit?: number | null;
}
