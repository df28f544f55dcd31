import { WorkspacePurge } from '../../../src/domain/workspaces/index.js';
import { changedTables, checksums } from '../checksums.js';
import { boundTo, type Credential, CREDENTIALS, householdAimedAt, type Proof } from './credentials.js';
import { type Cell, expectedStatus } from './expectation.js';
import { FORMS, pathTo, serving, type Spelling } from './forms.js';
import { absentTarget, type Route, ROUTES, type Target } from './route-table.js';
import { targetFor } from './scene.js';
import { expected, useScene, type UsedScene } from './used-scene.js';

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
 * The owner and a caller without a credential try all forms. A credential that is to count as none tries the plain one, and
 * one more at each route. Each other credential tries those that are served; a form that no route serves is 404 before the
 * credential is checked, so it tries one of them at each route. The routes have their turns.
 */
function askedBy(credential: Credential, route: Route, spelt: readonly Spelt[]): readonly Spelt[] {
  if (['a JWT', 'none'].includes(credential.name)) return spelt;
  const always = countsAsNone(credential, route)
    ? spelt.slice(0, 1)
    : spelt.filter(({ isServed }) => isServed);
  const others = spelt.filter((one) => !always.includes(one));
  const turn = (CREDENTIALS.indexOf(credential) + ROUTES.indexOf(route)) % others.length;
  return spelt.filter((one) => always.includes(one) || one === others[turn]);
}

const countsAsNone = ({ name, bearer }: Credential, { access }: Route): boolean =>
  (bearer === undefined || access === 'public') && !name.startsWith('a session');

export type Part = 'pages' | 'workspaces' | 'automation' | 'assets and devices' | 'accounts';

/** In which test file a route is tried: together they would take minutes. */
function partOf({ path }: Route): Part {
  if (!path.startsWith('/api/')) return 'pages';
  if (path.startsWith('/api/v1/workspaces')) return 'workspaces';
  if (path.startsWith('/api/v1/automation')) return 'automation';
  return /^\/api\/(?:assets|v1\/devices)/.test(path) ? 'assets and devices' : 'accounts';
}

/** Tries each route of the part with every credential. */
export function describeMatrix(part: Part): void {
  const routes = ROUTES.filter((route) => partOf(route) === part);
  const cells = routes.flatMap((route) =>
    CREDENTIALS.flatMap((credential) => cellsOf(route, credential, absentTarget())),
  ).length;

  describe(`the access matrix of ${part}: ${cells} cells, ${routes.length} routes by ${CREDENTIALS.length} credentials by ${FORMS.length} forms`, () => {
    const used = useScene();
    it.each(routes)('$method $path', (route) => expectAccess(used, route));
  });
}

async function expectAccess(used: UsedScene, route: Route): Promise<void> {
  const mayWrite = ({ status }: Cell): boolean => status < 400 && route.writes !== undefined;
  const all = CREDENTIALS.map((credential) => {
    const cells = cellsOf(route, credential, householdAimedAt(used.scene, credential).target);
    return { credential, cells };
  });
  await used.expectNoTrace(
    all.map(({ credential, cells }) => {
      return [credential.name, used.proofOf(credential), cells.filter((cell) => !mayWrite(cell))];
    }),
  );
  for (const { credential, cells } of all)
    for (const cell of cells.filter(mayWrite)) await expectSuccess(used, route, credential, cell);
}

/** Expects that the caller is admitted, and that no table is written which the route does not name. */
async function expectSuccess(
  used: UsedScene,
  route: Route,
  credential: Credential,
  cell: Cell,
): Promise<void> {
  const { app, database } = used.scene.service;
  const { target, proof } = await prepared(used, route, credential);
  const again = cellsOf(route, credential, target).find(({ form }) => form === cell.form)!;
  const before = await checksums(database);
  expect(Object.fromEntries([await used.ask(again, proof)])).toEqual(expected([again]));
  await app.get(WorkspacePurge).idle();
  const changed = changedTables(before, await checksums(database));
  expect(changed.filter((table) => !route.writes?.includes(table))).toEqual([]);
}

/** A target that a request may use up, and the credential for it. */
async function prepared(
  used: UsedScene,
  route: Route,
  credential: Credential,
): Promise<{ target: Target; proof: Proof }> {
  const household = householdAimedAt(used.scene, credential);
  const target = await targetFor(used.scene.service, household, route.uses);
  const proof = used.proofOf(credential);
  if (target.workspaceId === household.target.workspaceId) return { target, proof };
  return { target, proof: await boundTo(target.workspaceId, household, credential, proof) };
}
