import { randomUUID } from 'node:crypto';
import type { Scope } from '../../../src/access/route-access.js';
import type { Example, Route, Target } from './route-table.js';

const READ: readonly Scope[] = ['documents:read'];
const WRITE: readonly Scope[] = ['documents:write'];

const VAULT = '/api/v1/automation/workspaces/:id';
const NOTE = `${VAULT}/notes/*`;

const NOT_JSON = { body: '{"broken":' };
const CONTENT = ['workspaces', 'files', 'versions', 'changes', 'blobs'];

const withSession = ({ keySession }: Target): Example => ({ headers: { 'X-Key-Session': keySession } });
const ofNote = (target: Target): Example => ({ ...withSession(target), params: { '*': target.notePath } });

const needsAll = { needsSubscription: true, ownsWorkspace: true } as const;

/** The routes of the Automation API. Bad key sessions are tested in api/automation-access. */
export const AUTOMATION_ROUTES: readonly Route[] = [
  {
    method: 'GET',
    path: `${VAULT}/metadata`,
    access: ['documents:read', 'assets:read'],
    ...needsAll,
    unlessGranted: 'assets:read',
  },
  {
    method: 'POST',
    path: `${VAULT}/key-sessions`,
    access: [...READ, ...WRITE],
    ...needsAll,
    example: ({ masterKey }) => ({ body: { key: masterKey } }),
    status: 201,
    broken: NOT_JSON,
    writes: ['key_sessions', 'audit_events'],
  },
  {
    method: 'GET',
    path: `${VAULT}/notes`,
    access: READ,
    ...needsAll,
    example: withSession,
    broken: { query: 'pageCursor=x' },
  },
  { method: 'GET', path: NOTE, access: READ, ...needsAll, example: ofNote, malformed: 400 },
  {
    method: 'POST',
    path: `${VAULT}/notes`,
    access: WRITE,
    ...needsAll,
    example: (target) => ({ ...withSession(target), body: { path: `${randomUUID()}.md`, content: 'new' } }),
    status: 201,
    broken: NOT_JSON,
    writes: CONTENT,
  },
  {
    method: 'PUT',
    path: NOTE,
    access: WRITE,
    ...needsAll,
    example: (target) => ({ ...ofNote(target), body: { content: randomUUID() } }),
    broken: NOT_JSON,
    malformed: 400,
    writes: CONTENT,
  },
  {
    method: 'GET',
    path: `${VAULT}/search`,
    access: READ,
    ...needsAll,
    example: (target) => ({ ...withSession(target), query: 'q=text' }),
    broken: { query: '' },
  },
  {
    method: 'GET',
    path: `${VAULT}/history/*`,
    access: READ,
    ...needsAll,
    example: (target) => ({ ...ofNote(target), query: `version=${target.noteVersionId}` }),
    broken: { query: 'version=a&version=b' },
    malformed: 400,
  },
  {
    method: 'POST',
    path: `${VAULT}/restore/*`,
    access: WRITE,
    ...needsAll,
    example: (target) => ({ ...ofNote(target), body: { versionId: target.noteVersionId } }),
    broken: NOT_JSON,
    malformed: 400,
    writes: CONTENT,
  },
  { method: 'GET', path: `${VAULT}/checkpoints`, access: READ, ...needsAll, example: withSession },
  {
    method: 'POST',
    path: `${VAULT}/checkpoints`,
    access: WRITE,
    ...needsAll,
    example: (target) => ({ ...withSession(target), body: { label: 'new' } }),
    status: 201,
    broken: NOT_JSON,
    writes: ['checkpoints'],
  },
  {
    method: 'GET',
    path: `${VAULT}/checkpoints/:cpId/summary`,
    access: READ,
    ...needsAll,
    example: (target) => ({ ...withSession(target), params: { cpId: target.checkpointId } }),
    broken: { query: 'fromCursor=x' },
  },
  {
    method: 'DELETE',
    path: NOTE,
    access: WRITE,
    ...needsAll,
    example: ofNote,
    malformed: 400,
    writes: ['workspaces', 'files', 'changes'],
    uses: 'note',
  },
  {
    method: 'DELETE',
    path: `${VAULT}/key-sessions/current`,
    access: [...READ, ...WRITE],
    ...needsAll,
    example: withSession,
    writes: ['key_sessions'],
    uses: 'keySession',
  },
];
