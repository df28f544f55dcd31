import { arrayOf, INSTANT, json, named, nullable, objectOf, OK, STRING, UUID } from '../api-docs/index.js';
import type { CreatedDeviceWire, DeviceWire } from './devices.wire.js';

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

export const DEVICES_DOCS = {
  tag: 'Devices',
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
