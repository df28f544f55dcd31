import type { Examples } from '../../platform/api-docs/index.js';

/** The examples follow one user: Ada signs up, creates a workspace and syncs a note from her laptop. */
const WORKSPACE_ID = '5f0c1a52-8d0e-4c55-9b1e-2f6a7f0f4b11';
const USER_ID = '0b9cfa2e-6f0a-4b6e-8f5d-6f1f9a9f2d10';
const FILE_ID = 'c1f6a4a0-93c5-4f1e-8c52-0f4f8f6f1e21';
const CHECKPOINT_ID = '7a1d8c3e-2b64-4a0f-9d7e-5c3b2a190f42';
const ENCRYPTED_PATH = 'q7T1x0dK3m9vYw5uZbC2eA';
const HASH = '2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae';
const NOON = '2026-03-01T12:00:00.000Z';
const TOKEN = 'v3Jt0cZx8mQ2';

const ACCOUNT = {
  id: USER_ID,
  name: 'Ada',
  email: 'ada@example.org',
  emailVerified: false,
  twoFactorEnabled: false,
  image: null,
  createdAt: NOON,
  updatedAt: NOON,
};
const UPLOADED = {
  id: FILE_ID,
  workspaceId: WORKSPACE_ID,
  encryptedPath: ENCRYPTED_PATH,
  contentHash: HASH,
  encryptedSize: 1024,
  version: 1,
};
const SUBSCRIPTION = {
  plan: 'free',
  status: 'trial',
  trialStartDate: NOON,
  trialEndDate: '2026-03-31T12:00:00.000Z',
  currentPeriodEnd: null,
  cancelAtPeriodEnd: false,
};
const ACCESS_TOKEN = {
  id: '3d0a6c1e-4f35-4c7d-a0c1-9b8e7d6f5a33',
  name: 'Backup script',
  created_at: NOON,
  last_used_at: null,
  expires_at: '2027-03-01T12:00:00.000Z',
  revoked_at: null,
  scopes: ['documents:read'],
  workspace_id: WORKSPACE_ID,
};
const CHECKPOINT = {
  id: CHECKPOINT_ID,
  encryptedLabel: 'bGFiZWw',
  kind: 'manual',
  cursor: 42,
  createdAt: '2026-03-01 12:00:00',
} as const;

export const EXAMPLES: Examples = {
  'identity.signUp': {
    body: { name: 'Ada', email: 'ada@example.org', password: 'correct horse battery staple' },
    answers: { 200: { token: TOKEN, user: ACCOUNT } },
  },
  'identity.signIn': {
    body: { email: 'ada@example.org', password: 'correct horse battery staple' },
    answers: { 200: { redirect: false, token: TOKEN, user: ACCOUNT } },
  },
  'accessTokens.create': {
    body: {
      name: 'Backup script',
      scopes: ['documents:read'],
      workspaceId: WORKSPACE_ID,
      expiresAt: '2027-03-01T12:00:00.000Z',
    },
  },
  'accessTokens.list': { answers: { 200: { tokens: [ACCESS_TOKEN] } } },
  'subscription.get': { answers: { 200: SUBSCRIPTION } },
  'subscription.startTrial': { answers: { 200: SUBSCRIPTION } },
  'workspaces.create': {
    body: { name: 'Notes' },
    answers: {
      201: { id: WORKSPACE_ID, userId: USER_ID, name: 'Notes', createdAt: NOON, updatedAt: NOON },
    },
  },
  'files.upload': { answers: { 200: { ...UPLOADED, version: 2 }, 201: UPLOADED } },
  'sync.getStatus': { answers: { 200: { cursor: 42, fileCount: 7 } } },
  'sync.pull': {
    body: { deviceId: 'laptop', cursor: 41, limit: 500 },
    answers: {
      200: {
        changes: [
          {
            encryptedPath: ENCRYPTED_PATH,
            action: 'upsert',
            contentHash: HASH,
            encryptedSize: 1024,
            version: 1,
            changedAt: NOON,
            changedByDevice: 'phone',
          },
        ],
        cursor: 42,
        hasMore: false,
      },
    },
  },
  'sync.push': {
    body: {
      deviceId: 'laptop',
      baseCursor: 42,
      changes: [{ encryptedPath: ENCRYPTED_PATH, action: 'delete' }],
    },
    answers: { 200: { cursor: 43, accepted: [ENCRYPTED_PATH], conflicts: [] } },
  },
  'checkpoints.create': {
    body: { encryptedLabel: 'bGFiZWw', kind: 'manual' },
    answers: { 201: { ...CHECKPOINT, workspaceId: WORKSPACE_ID } },
  },
  'checkpoints.list': { answers: { 200: { checkpoints: [CHECKPOINT] } } },
  'devices.register': {
    body: { name: 'Laptop', platform: 'linux' },
    answers: {
      201: {
        id: 'e2b7d5f4-1c3a-4e8d-b6f0-8a9c7d5e3b64',
        userId: USER_ID,
        name: 'Laptop',
        platform: 'linux',
      },
    },
  },
  'automation.createNote': {
    body: { path: 'Ideas/Sync.md', content: '# Sync\n' },
    answers: { 201: { path: 'Ideas/Sync.md', version: 1, contentHash: HASH, updatedAt: NOON } },
  },
  'automation.searchNotes': {
    answers: { 200: { results: [{ path: 'Ideas/Sync.md', version: 1, score: 2.5, snippet: '# Sync' }] } },
  },
};
