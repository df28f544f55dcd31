import { DEVICE_ID_RULE, isDeviceId } from '../devices/index.js';
import type { LoggedChange } from '../workspaces/index.js';
import { textFrame } from './frames.js';

export interface ChangeMessage {
  readonly encryptedPath: string;
  readonly action: 'upsert' | 'delete';
  readonly contentHash: string;
  readonly encryptedSize: number;
  readonly version: number;
}

/** What the service says. */
export type ServerMessage =
  | { readonly type: 'welcome'; readonly cursor: number; readonly deviceCount: number }
  | { readonly type: 'changes'; readonly changes: readonly ChangeMessage[]; readonly cursor: number }
  | { readonly type: 'assets-changed' }
  | { readonly type: 'pong' }
  | { readonly type: 'error'; readonly code: ErrorCode; readonly message: string }
  | { readonly type: 'device_connected'; readonly deviceId: string; readonly deviceName: string }
  | { readonly type: 'device_disconnected'; readonly deviceId: string };

export type ErrorCode = 'invalid_message' | 'rate_limited' | 'workspace_not_found' | 'unavailable';

/** What a client says. Keys beyond these are ignored. */
export type ClientMessage =
  { readonly type: 'hello'; readonly cursor: number; readonly deviceId: string } | { readonly type: 'ping' };

/** A message that is none. Its text may be shown to the client. */
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

/** As a frame, which is made once, however many sockets it goes to. */
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
    throw new InvalidMessage('a message must be JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidMessage('a message must be a JSON object');
  }
  return value as Record<string, unknown>;
}

function hello({ cursor, deviceId }: Record<string, unknown>): { cursor: number; deviceId: string } {
  if (!Number.isSafeInteger(cursor) || (cursor as number) < 0) {
    throw new InvalidMessage('cursor must be an integer, 0 or more');
  }
  if (!isDeviceId(deviceId)) throw new InvalidMessage(`deviceId ${DEVICE_ID_RULE}`);
  return { cursor: cursor as number, deviceId };
}
