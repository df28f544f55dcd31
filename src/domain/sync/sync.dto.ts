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
import type { Database } from '../../platform/database/index.js';
import { BadRequest, Conflict } from '../../platform/http/index.js';
import { DEVICE_ID, DEVICE_ID_RULE } from '../devices/index.js';
import { CONTENT_HASH, ENCRYPTED_PATH, ENCRYPTED_PATH_RULE, type LogBounds } from '../files/index.js';
import { syncStatements } from './sync.queries.js';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;

/** A page size, floored and clamped to 1..`most`; `usual` when absent. */
export function clampLimit(
  limit: number | null | undefined,
  most = MAX_LIMIT,
  usual = DEFAULT_LIMIT,
): number {
  if (limit === undefined || limit === null || !Number.isFinite(limit)) return usual;
  return Math.min(Math.max(Math.floor(limit), 1), most);
}

/** The same for a query parameter; a value that is not a number counts as absent (snapshot rule 1). */
export function clampTextLimit(text: unknown, most?: number, usual?: number): number {
  return clampLimit(typeof text === 'string' && text.trim() !== '' ? Number(text) : undefined, most, usual);
}

/** The `pageCursor` query parameter, a file id; undefined when absent. @throws BadRequest */
export function pageCursorIn(pageCursor: unknown): string | undefined {
  if (pageCursor === undefined || pageCursor === '') return undefined;
  if (!isUUID(pageCursor)) throw new BadRequest('pageCursor must be a file id');
  return pageCursor as string;
}

const ITS_RULE = { message: `deviceId ${DEVICE_ID_RULE}` };

// class-validator checks the last decorator of a property first, so the type check is closest to the property.

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

/** Push rule 1: a row with another action rejects the whole push. A row whose action is not a string is a different error. */
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

interface Asked {
  readonly workspaceId: string;
  readonly cursor: number;
  /** The first change above the cursor, if already read: when it directly follows the cursor, no further query is needed. */
  readonly next?: number | null | undefined;
}

/** Refuses a cursor that does not belong to this log. @throws Conflict needsBootstrap */
export async function refuseCursor(
  reader: Pick<Database, 'run'>,
  { workspaceId, cursor, next }: Asked,
  log: LogBounds,
): Promise<void> {
  refuseUnknownCursor(cursor, log);
  if (next !== cursor + 1) await refuseLostCursor(reader, workspaceId, cursor, log);
}

/**
 * A cursor below the floor has lost its changes to compaction; a cursor above the head belongs to a log whose tail
 * was lost by restoring a backup. In both cases the client must start again from the snapshot. @throws Conflict
 */
function refuseUnknownCursor(cursor: number, log: LogBounds): void {
  if (cursor >= (log.compactionFloor ?? 0) && cursor <= log.headCursor) return;
  throw mustBootstrap(log);
}

/**
 * Cursors are dense except for the gap that a restored backup leaves above its head; the gap keeps a cursor from
 * identifying two different changes. A cursor inside the gap was issued before the restore, for changes that the
 * backup does not have, so its client must start again from the snapshot too. The change at the floor itself may have
 * been removed; no change above the floor has.
 * @throws Conflict
 */
async function refuseLostCursor(
  reader: Pick<Database, 'run'>,
  workspaceId: string,
  cursor: number,
  log: LogBounds,
): Promise<void> {
  if (cursor === 0 || cursor === log.headCursor || cursor === log.compactionFloor) return;
  const [known] = await reader.run<unknown>(syncStatements.isCursorKnown, [workspaceId, cursor]);
  if (!known) throw mustBootstrap(log);
}

function mustBootstrap({ compactionFloor }: LogBounds): Conflict {
  return new Conflict('the cursor does not belong to this log; start again from the snapshot', {
    needsBootstrap: true,
    compactionFloor: compactionFloor ?? 0,
  });
}
