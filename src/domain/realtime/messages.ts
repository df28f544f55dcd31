import { DEVICE_ID_RULE, isDeviceId } from '../devices/index.js';
import type { LoggedChange } from '../workspaces/index.js';

const UNFRAGMENTED_TEXT = 0x81;
/** A length up to 125 is the second byte itself; these two values announce a length in the next two or eight bytes. */
const LENGTH_IN_TWO_BYTES = 126;
const LENGTH_IN_EIGHT_BYTES = 127;

/** Encodes a text as one frame of RFC 6455, section 5.2, as a server sends it: unfragmented and unmasked. */
export function textFrame(text: string): Buffer {
  const length = Buffer.byteLength(text);
  const head = headOf(length);
  const frame = Buffer.allocUnsafe(head.length + length);
  frame.set(head);
  frame.write(text, head.length);
  return frame;
}

function headOf(length: number): Buffer {
  if (length < LENGTH_IN_TWO_BYTES) return Buffer.of(UNFRAGMENTED_TEXT, length);
  if (length <= 0xffff) {
    const head = Buffer.of(UNFRAGMENTED_TEXT, LENGTH_IN_TWO_BYTES, 0, 0);
    head.writeUInt16BE(length, 2);
    return head;
  }
  const head = Buffer.of(UNFRAGMENTED_TEXT, LENGTH_IN_EIGHT_BYTES, 0, 0, 0, 0, 0, 0, 0, 0);
  head.writeBigUInt64BE(BigInt(length), 2);
  return head;
}

type ChangeMessage = Omit<LoggedChange, 'cursor' | 'changedByDevice'>;

/** Messages from the service. */
export type ServerMessage =
  | { readonly type: 'welcome'; readonly cursor: number; readonly deviceCount: number }
  | { readonly type: 'changes'; readonly changes: readonly ChangeMessage[]; readonly cursor: number }
  | { readonly type: 'assets-changed' }
  | { readonly type: 'pong' }
  | { readonly type: 'error'; readonly code: ErrorCode; readonly message: string }
  | { readonly type: 'device_connected'; readonly deviceId: string; readonly deviceName: string }
  | { readonly type: 'device_disconnected'; readonly deviceId: string };

export type ErrorCode = 'invalid_message' | 'rate_limited' | 'workspace_not_found' | 'unavailable';

/** Messages from a client. Unknown keys are ignored. */
export type ClientMessage =
  { readonly type: 'hello'; readonly cursor: number; readonly deviceId: string } | { readonly type: 'ping' };

/** A malformed message. The text of the error may be shown to the client. */
export class InvalidMessage extends Error {}

/** @throws InvalidMessage */
export function parseMessage(text: string): ClientMessage {
  const message = parseObject(text);
  switch (message['type']) {
    case 'ping':
      return { type: 'ping' };
    case 'hello':
      return { type: 'hello', ...hello(message) };
    default:
      throw new InvalidMessage('type must be hello or ping');
  }
}

/** Encodes a message as a frame once, however many sockets it is sent to. */
export function frameOf(message: ServerMessage): Buffer {
  return textFrame(JSON.stringify(message));
}

export function changesMessage(changes: readonly LoggedChange[], cursor: number): ServerMessage {
  return {
    type: 'changes',
    changes: changes.map(({ encryptedPath, action, contentHash, encryptedSize, version }) => ({
      encryptedPath,
      action,
      contentHash,
      encryptedSize,
      version,
    })),
    cursor,
  };
}

function parseObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new InvalidMessage('a message must be valid JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidMessage('a message must be a JSON object');
  }
  return value as Record<string, unknown>;
}

function hello({ cursor, deviceId }: Record<string, unknown>): { cursor: number; deviceId: string } {
  if (!Number.isSafeInteger(cursor) || (cursor as number) < 0) {
    throw new InvalidMessage('cursor must be a non-negative integer');
  }
  if (!isDeviceId(deviceId)) throw new InvalidMessage(`deviceId ${DEVICE_ID_RULE}`);
  return { cursor: cursor as number, deviceId };
}
