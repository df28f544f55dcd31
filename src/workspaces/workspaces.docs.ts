import {
  arrayOf,
  BOOLEAN,
  INSTANT,
  json,
  named,
  nullable,
  objectOf,
  OK,
  SHA256_HEX,
  STRING,
  UUID,
} from '../api-docs/index.js';
import type { CreatedWorkspaceWire, WorkspaceWire } from './workspaces.wire.js';

const WORKSPACE = named(
  'Workspace',
  objectOf<WorkspaceWire>({
    id: UUID,
    user_id: UUID,
    name: STRING,
    encryption_salt: nullable(SHA256_HEX),
    created_at: INSTANT,
    updated_at: INSTANT,
  }),
);

const CREATED = named(
  'CreatedWorkspace',
  objectOf<CreatedWorkspaceWire>({
    id: UUID,
    userId: UUID,
    name: STRING,
    createdAt: INSTANT,
    updatedAt: INSTANT,
  }),
);

export const WORKSPACES_DOCS = {
  tag: 'Workspaces',
  operations: {
    list: {
      summary: 'The workspaces of the user',
      description: 'A token that is bound to a workspace sees that one alone.',
      answers: {
        200: json('all of them', objectOf<{ workspaces: unknown }>({ workspaces: arrayOf(WORKSPACE) })),
      },
    },
    create: {
      summary: 'Make a workspace',
      answers: { 201: json('the workspace', CREATED), 409: 'the user has 1,000 workspaces already' },
    },
    get: { summary: 'One workspace', answers: { 200: json('the workspace', WORKSPACE) } },
    delete: {
      summary: 'Delete a workspace, with all files, versions and assets',
      description: 'It is 404 from now on. What was stored goes in the background.',
      answers: { 200: json('it is gone', OK) },
    },
    setUpEncryption: {
      summary: 'Set up the end-to-end encryption, once',
      description: 'Salts and hash let a second device derive the key from the password and check it.',
      answers: { 200: json('it is set up', OK), 409: 'it was set up before' },
    },
    verifyPassword: {
      summary: 'Compare a verification hash',
      description: 'Ten times a minute per workspace. Before set-up nothing is valid.',
      answers: { 200: json('whether it is the one', objectOf<{ valid: boolean }>({ valid: BOOLEAN })) },
    },
  },
} as const;
