import { json, matching, OK, URL_TEXT, UUID } from '../api-docs/index.js';
import { DEVICE_ID } from '../devices/index.js';

const BASE64URL = (characters: string) => ({ type: 'string', pattern: `^[A-Za-z0-9_-]${characters}={0,2}$` });

export const PUSH_SUBSCRIPTIONS_DOCS = {
  tag: 'Devices',
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
