import { randomUUID } from 'node:crypto';
import { WorkspacePurge } from '../../../../src/domain/workspaces/index.js';
import { bearerHeader, CREDENTIALS, faultless, type Proof } from '../../../kit/routes/credentials.js';
import { pathTo, serving } from '../../../kit/routes/forms.js';
import { absentTarget, type Route, ROUTES, type Target } from '../../../kit/routes/route-table.js';
import { bareWorkspace } from '../../../kit/routes/scene.js';
import { send } from '../../../kit/routes/send.js';
import { useScene } from '../../../kit/routes/used-scene.js';

const used = useScene();

describe('the access matrix', () => {
  it('admits a forged token without a fault, so each of the others has only its fault', async () => {
    const me = { method: 'GET', path: '/api/v1/auth/me' };
    expect((await send(used.scene.service.url, me, {}, await faultless(used.scene))).status).toBe(200);
  });
});

describe('a method that a path does not have', () => {
  const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'];
  const routes = ROUTES.filter(({ method }) => method !== 'ALL');

  it.each([...new Set(routes.map(({ path }) => path))])('is 404 at %s, even for the owner', async (path) => {
    const { target, user } = used.scene.owner;
    const route = routes.find((one) => one.path === path)!;
    const example = route.example?.(target) ?? {};
    const spellings = METHODS.map((method) => ({ method, path: pathTo(route, example, target) })).filter(
      (spelling) => !serving(spelling),
    );
    const cells = spellings.map((spelling) => ({ form: spelling.method, spelling, example, status: 404 }));
    await used.expectNoTrace([
      ['nobody', {}, cells],
      ['the owner', bearerHeader(user.token), cells],
    ]);
  });

  it('is not replaced by a header or a parameter that names another method', async () => {
    const { target, user } = used.scene.owner;
    const spelling = { method: 'POST', path: `/api/v1/workspaces/${target.workspaceId}` };
    const headers = {
      'X-HTTP-Method-Override': 'DELETE',
      'X-HTTP-Method': 'DELETE',
      'X-Method-Override': 'DELETE',
    };
    const example = { headers, query: '_method=DELETE', body: { _method: 'DELETE' } };
    const cells = [{ form: 'overridden', spelling, example, status: 404 }];
    await used.expectNoTrace([['the owner', bearerHeader(user.token), cells]]);
  });
});

describe('a workspace of another user', () => {
  const routes = ROUTES.filter(({ ownsWorkspace, namesWorkspace }) => ownsWorkspace || namesWorkspace);

  it.each(routes)('is answered like one that does not exist: $method $path', async (route) => {
    const { owner, stranger, service } = used.scene;
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
    const { owner } = used.scene;
    const bound = CREDENTIALS.find(({ name }) => name === 'a full PAT bound elsewhere')!;
    const ids = { 'their own': owner.target.workspaceId, 'never there': randomUUID() };
    const answers = await answersTo(route, ids, used.proofOf(bound));
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
      const target = { ...used.scene.owner.target, workspaceId };
      const example = route.example?.(target) ?? {};
      const path = pathTo(route, example, target);
      for (const method of route.method === 'GET' ? ['GET', 'HEAD'] : [route.method]) {
        const { status, headers, body } = await send(
          used.scene.service.url,
          { method, path },
          example,
          proof,
        );
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
    const { owner, stranger } = used.scene;
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
          used.scene.service.url,
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
