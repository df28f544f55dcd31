import { exportOf, filesIn } from '../exports.js';
import { sha256, type TestUser } from '../index.js';
import type { Household } from './scene.js';
import { nameOf, type Route, ROUTES } from './route-table.js';
import { send } from './send.js';

const EXPORT = '/api/v1/auth/me/export';

/** Files that say when they were made, or who is signed in. */
const OF_THE_MOMENT = /^(?:manifest|account)\.json$|^checksums\/|^(?:sessions|audit|key-sessions)-/;

/** All that a user can read: status and body of every GET that needs a token, and the files of the export. */
export async function everyRead(user: TestUser, target: Household['target']): Promise<Map<string, string>> {
  const reads = new Map<string, string>();
  for (const route of ROUTES.filter(isRead)) {
    const example = route.example?.(target) ?? {};
    const params: Readonly<Record<string, string>> = { id: target.workspaceId, ...example.params };
    const path = route.path.replace(/:(\w+)|\*/g, (part, name?: string) =>
      encodeURIComponent(params[name ?? part] ?? ''),
    );
    const proof = { headers: { Authorization: `Bearer ${user.token}` } };
    const { status, body } = await send(user.url, { method: 'GET', path }, example, proof);
    reads.set(nameOf(route), `${status} ${body}`);
  }
  for (const [name, content] of await filesIn(await exportOf(user)))
    if (!OF_THE_MOMENT.test(name))
      reads.set(`export ${name}`, name.endsWith('.json') ? content.toString() : sha256(content));
  return reads;
}

const isRead = ({ method, access, path }: Route): boolean =>
  method === 'GET' && access !== 'public' && path !== EXPORT;
