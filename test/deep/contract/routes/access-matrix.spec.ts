import { randomUUID } from 'node:crypto';
import { WorkspacePurge } from '../../../../src/domain/workspaces/index.js';
import { changedTables, checksums } from '../../../kit/checksums.js';
import {
  bearerHeader,
  boundTo,
  type Credential,
  CREDENTIALS,
  faultless,
  householdAimedAt,
  type Proof,
} from '../../../kit/routes/credentials.js';
import { type Cell, expectedStatus } from '../../../kit/routes/expectation.js';
import { FORMS, pathTo, serving, type Spelling } from '../../../kit/routes/forms.js';
import { absentTarget, type Route, ROUTES, type Target } from '../../../kit/routes/route-table.js';
import { bareWorkspace, type Scene, setScene, targetFor } from '../../../kit/routes/scene.js';
import { type Answer, hangUp, send } from '../../../kit/routes/send.js';

/** How often a new scene is set, which takes seconds; this many holes are enough to see where they are. */
let newScenes = 20;

let scene: Scene;
const proofs = new Map<Credential, Proof>();
beforeAll(raiseCurtain);
afterAll(dropCurtain);

async function raiseCurtain(): Promise<void> {
  scene = await setScene();
  for (const credential of CREDENTIALS) proofs.set(credential, await credential.proof(scene));
}

async function dropCurtain(): Promise<void> {
  hangUp();
  await scene.service.close();
}

interface Spelt {
  readonly form: string;
  readonly spelling: Spelling;
  readonly isBroken: boolean;
  readonly isServed: boolean;
}

function cellsOf(route: Route, credential: Credential, target: Target): Cell[] {
  const example = route.example?.(target) ?? {};
  const path = pathTo(route, example, target);
  const spelt: Spelt[] = FORMS.flatMap(({ name: form, spell, isBroken = false }) => {
    const spelling = spell(route, path);
    return spelling ? [{ form, spelling, isBroken, isServed: serving(spelling) !== undefined }] : [];
  });
  return askedBy(credential, route, spelt).map(({ form, spelling, isBroken }) => {
    const status = expectedStatus(credential, { spelling, example, target, isBroken });
    return { form, spelling, example: isBroken ? { ...example, ...route.broken } : example, status };
  });
}

/**
 * A form that no route serves is 404 before the credential is checked. So only the owner and a caller without
 * a credential try all of them; each other credential tries one of them at each route.
 */
function askedBy(credential: Credential, route: Route, spelt: readonly Spelt[]): readonly Spelt[] {
  if (['a JWT', 'none'].includes(credential.name)) return spelt;
  const unserved = spelt.filter(({ isServed }) => !isServed);
  const turn = (CREDENTIALS.indexOf(credential) + ROUTES.indexOf(route)) % unserved.length;
  return spelt.filter((one) => one.isServed || one === unserved[turn]);
}

const CELLS = ROUTES.flatMap((route) =>
  CREDENTIALS.flatMap((credential) => cellsOf(route, credential, absentTarget())),
).length;

const FLAT = /^\{"error":"[^"]+"\}$/;

/** The status, together with the problem when the answer has the wrong form. */
function verdict({ spelling }: Pick<Cell, 'spelling'>, { status, headers, body }: Answer): number | string {
  if (status === 401 && headers['www-authenticate'] !== 'Bearer') return '401 without WWW-Authenticate';
  if (status < 400 || spelling.method === 'HEAD') return status;
  const { isPage, looksUnknown } = serving(spelling)?.route ?? {};
  const isInForm = isPage && !looksUnknown ? body.startsWith('<!doctype html>') : FLAT.test(body);
  return isInForm ? status : `${status} ${body}`;
}

async function ask(cell: Cell, proof: Proof): Promise<[string, number | string]> {
  return [cell.form, verdict(cell, await send(scene.service.url, cell.spelling, cell.example, proof))];
}

const expected = (cells: readonly Cell[]): Record<string, number> =>
  Object.fromEntries(cells.map(({ form, status }) => [form, status]));

type Asked = readonly [name: string, proof: Proof, cells: readonly Cell[]];

/** Expects the answers, and that no row has changed. */
async function expectNoTrace(asked: readonly Asked[]): Promise<void> {
  const before = await checksums(scene.service.database);
  const answers: Record<string, unknown> = {};
  for (const [name, proof, cells] of asked)
    answers[name] = Object.fromEntries(await Promise.all(cells.map((cell) => ask(cell, proof))));
  const changed = changedTables(before, await checksums(scene.service.database));
  if (changed.length > 0 && newScenes-- > 0) {
    // A hole has changed the scene; on a new one the next tests cannot fail because of it.
    await dropCurtain();
    await raiseCurtain();
  }
  const wanted = Object.fromEntries(asked.map(([name, , cells]) => [name, expected(cells)]));
  expect({ answers, changed }).toEqual({ answers: wanted, changed: [] });
}

/** Expects that the caller is admitted, and that no table is written which the route does not name. */
async function expectSuccess(route: Route, credential: Credential, cell: Cell): Promise<void> {
  const { target, proof } = await prepared(route, credential);
  const again = cellsOf(route, credential, target).find(({ form }) => form === cell.form)!;
  const before = await checksums(scene.service.database);
  expect(Object.fromEntries([await ask(again, proof)])).toEqual(expected([again]));
  await scene.service.app.get(WorkspacePurge).idle();
  const changed = changedTables(before, await checksums(scene.service.database));
  expect(changed.filter((table) => !route.writes?.includes(table))).toEqual([]);
}

/** A target that a request may use up, and the credential for it. */
async function prepared(route: Route, credential: Credential): Promise<{ target: Target; proof: Proof }> {
  const household = householdAimedAt(scene, credential);
  const target = await targetFor(scene.service, household, route.uses);
  const proof = proofs.get(credential)!;
  if (target.workspaceId === household.target.workspaceId) return { target, proof };
  return { target, proof: await boundTo(target.workspaceId, household, credential, proof) };
}

describe(`the access matrix: ${CELLS} cells, ${ROUTES.length} routes by ${CREDENTIALS.length} credentials by ${FORMS.length} forms`, () => {
  it('admits a forged token without a fault, so each of the others has only its fault', async () => {
    const me = { method: 'GET', path: '/api/v1/auth/me' };
    expect((await send(scene.service.url, me, {}, await faultless(scene))).status).toBe(200);
  });

  it.each(ROUTES)('$method $path', async (route) => {
    const mayWrite = ({ status }: Cell): boolean => status < 400 && route.writes !== undefined;
    const all = CREDENTIALS.map((credential) => {
      const cells = cellsOf(route, credential, householdAimedAt(scene, credential).target);
      return { credential, cells };
    });
    await expectNoTrace(
      all.map(({ credential, cells }) => {
        return [credential.name, proofs.get(credential)!, cells.filter((cell) => !mayWrite(cell))];
      }),
    );
    for (const { credential, cells } of all)
      for (const cell of cells.filter(mayWrite)) await expectSuccess(route, credential, cell);
  });
});

describe('a method that a path does not have', () => {
  const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'];
  const routes = ROUTES.filter(({ method }) => method !== 'ALL');

  it.each([...new Set(routes.map(({ path }) => path))])('is 404 at %s, even for the owner', async (path) => {
    const { target, user } = scene.owner;
    const route = routes.find((one) => one.path === path)!;
    const example = route.example?.(target) ?? {};
    const spellings = METHODS.map((method) => ({ method, path: pathTo(route, example, target) })).filter(
      (spelling) => !serving(spelling),
    );
    const cells = spellings.map((spelling) => ({ form: spelling.method, spelling, example, status: 404 }));
    await expectNoTrace([
      ['nobody', {}, cells],
      ['the owner', bearerHeader(user.token), cells],
    ]);
  });

  it('is not replaced by a header or a parameter that names another method', async () => {
    const { target, user } = scene.owner;
    const spelling = { method: 'POST', path: `/api/v1/workspaces/${target.workspaceId}` };
    const headers = {
      'X-HTTP-Method-Override': 'DELETE',
      'X-HTTP-Method': 'DELETE',
      'X-Method-Override': 'DELETE',
    };
    const example = { headers, query: '_method=DELETE', body: { _method: 'DELETE' } };
    const cells = [{ form: 'overridden', spelling, example, status: 404 }];
    await expectNoTrace([['the owner', bearerHeader(user.token), cells]]);
  });
});

describe('a workspace of another user', () => {
  const routes = ROUTES.filter(({ ownsWorkspace, namesWorkspace }) => ownsWorkspace || namesWorkspace);

  it.each(routes)('is answered like one that does not exist: $method $path', async (route) => {
    const { owner, stranger, service } = scene;
    const deletedId = await bareWorkspace(service, stranger.user.id);
    await stranger.user.delete(`/api/v1/workspaces/${deletedId}`).expect(200);
    await service.app.get(WorkspacePurge).idle();
    const ids = {
      "somebody else's": owner.target.workspaceId,
      deleted: deletedId,
      'never there': randomUUID(),
      'the nil uuid': '00000000-0000-0000-0000-000000000000',
      'no uuid': 'x',
      'a uuid and more': `${owner.target.workspaceId}x`,
      'a list of uuids': `${owner.target.workspaceId},${stranger.target.workspaceId}`,
      quoted: `${owner.target.workspaceId}'%20OR%20'1'='1`,
    };
    const answers = await answersTo(route, ids, bearerHeader(stranger.user.token));
    expect(new Set(Object.values(answers))).toEqual(new Set(['404 {"error":"workspace not found"}']));
  });

  it.each(routes)('is answered the same to a token of another workspace: $method $path', async (route) => {
    const { owner } = scene;
    const bound = CREDENTIALS.find(({ name }) => name === 'a full PAT bound elsewhere')!;
    const ids = { 'their own': owner.target.workspaceId, 'never there': randomUUID() };
    const answers = await answersTo(route, ids, proofs.get(bound)!);
    expect(new Set(Object.values(answers))).toEqual(new Set(['404 {"error":"workspace not found"}']));
  });

  /** Status and body for each id. Status and headers must be equal, those of the HEAD of a GET too. */
  async function answersTo(
    route: Route,
    ids: Record<string, string>,
    proof: Proof,
  ): Promise<Record<string, string>> {
    const heads = new Set<string>();
    const answers: Record<string, string> = {};
    for (const [name, workspaceId] of Object.entries(ids)) {
      const target = { ...scene.owner.target, workspaceId };
      const example = route.example?.(target) ?? {};
      const path = pathTo(route, example, target);
      for (const method of route.method === 'GET' ? ['GET', 'HEAD'] : [route.method]) {
        const { status, headers, body } = await send(scene.service.url, { method, path }, example, proof);
        heads.add(JSON.stringify([status, { ...headers, date: undefined, 'x-request-id': undefined }]));
        if (method !== 'HEAD') answers[name] = `${status} ${body}`;
      }
    }
    expect(heads.size).toBe(1);
    return answers;
  }
});

describe('an item of another workspace or another user', () => {
  const VARIED = [
    'encryptedPath',
    'versionedPath',
    'versionId',
    'checkpointId',
    'keySlotId',
    'assetToken',
    'deviceId',
    'tokenId',
  ] as const;
  const routes = ROUTES.filter(
    ({ path, method, isIdempotent, ownsItem, ownsWorkspace }) =>
      method !== 'PUT' && !isIdempotent && (ownsItem || (ownsWorkspace && /:(?!id\b)/.test(path))),
  );

  it.each(routes)('is answered like one that does not exist: $method $path', async (route) => {
    const { owner, stranger } = scene;
    const { workspaceId } = stranger.target;
    const absent = absentTarget();
    const foreign = { ...owner.target, encryptedPath: absent.encryptedPath };
    const answers = new Set<string>();
    for (const things of [foreign, absent]) {
      for (const what of VARIED) {
        const target: Target = { ...stranger.target, [what]: things[what], workspaceId };
        const example = route.example?.(target) ?? {};
        const path = pathTo(route, example, target);
        if (path === pathTo(route, route.example?.(stranger.target) ?? {}, stranger.target)) continue;
        const proof = bearerHeader(stranger.user.token);
        const { status, body } = await send(
          scene.service.url,
          { method: route.method, path },
          example,
          proof,
        );
        answers.add(`${status} ${body}`);
      }
    }
    expect([...answers]).toEqual([expect.stringMatching(/^404 \{"error":"[a-z ]+ not found"\}$/)]);
  });
});
