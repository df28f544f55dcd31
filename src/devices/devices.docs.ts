import {
  arrayOf,
  INSTANT,
  json,
  matching,
  named,
  nullable,
  objectOf,
  OK,
  STRING,
  URL_TEXT,
  UUID,
} from '../platform/openapi/index.js';
import { DEVICE_ID } from './device-id.js';
import type { CreatedDeviceWire, DeviceWire } from './devices.wire.js';

const TAG = 'Devices';

const DEVICE = named(
  'Device',
  objectOf<DeviceWire>({
    id: UUID,
    name: STRING,
    platform: STRING,
    last_seen_at: nullable(INSTANT),
    created_at: INSTANT,
  }),
);

const CREATED = named(
  'CreatedDevice',
  objectOf<CreatedDeviceWire>({ id: UUID, userId: UUID, name: STRING, platform: STRING }),
);

const VAPID = {
  anyOf: [
    objectOf<{ publicKey: string; enabled: true }>({ publicKey: STRING, enabled: { const: true } }),
    objectOf<{ enabled: false }>({ enabled: { const: false } }),
  ],
};

const BASE64URL = (characters: string) => ({ type: 'string', pattern: `^[A-Za-z0-9_-]${characters}={0,2}$` });

export const DEVICES_DOCS = {
  tag: TAG,
  operations: {
    list: {
      summary: 'The registered devices',
      answers: { 200: json('all of them', objectOf<{ devices: unknown }>({ devices: arrayOf(DEVICE) })) },
    },
    create: {
      summary: 'Register a device',
      description: 'Its id may serve as `X-Device-Id`; a device that is not registered can sync as well.',
      answers: { 201: json('the device', CREATED), 409: 'the user has 1,000 devices already' },
    },
    vapidPublicKey: {
      summary: 'What a browser needs to subscribe to Web Push',
      answers: { 200: json('the key, unless Web Push is off', VAPID) },
    },
    delete: {
      summary: 'Remove a device, and its push subscriptions',
      path: { id: { description: 'The device.' } },
      answers: { 200: json('it is gone', OK), 404: 'device not found' },
    },
  },
} as const;

export const PUSH_SUBSCRIPTIONS_DOCS = {
  tag: TAG,
  operations: {
    subscribe: {
      summary: 'Subscribe a device of a workspace to Web Push',
      description: 'A second subscription of the same device replaces the first.',
      properties: {
        workspaceId: UUID,
        deviceId: matching(DEVICE_ID),
        endpoint: { ...URL_TEXT, maxLength: 2048, description: 'https, and not into a private network' },
        keys: {
          type: 'object',
          properties: {
            p256dh: { ...BASE64URL('{87}'), description: '65 bytes in base64url' },
            auth: { ...BASE64URL('{22}'), description: '16 bytes in base64url' },
          },
          required: ['p256dh', 'auth'],
        },
      },
      answers: { 201: json('it is subscribed', OK), 404: 'workspace not found' },
    },
    unsubscribe: {
      summary: 'End the subscription of a device',
      description: 'Also when there is none.',
      path: {
        workspaceId: { description: 'The workspace.', schema: UUID },
        deviceId: { description: 'What the device calls itself.' },
      },
      answers: { 200: json('there is none', OK), 404: 'workspace not found' },
    },
  },
} as const;
