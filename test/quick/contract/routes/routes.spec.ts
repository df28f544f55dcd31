import { startService, type TestService } from '../../../kit/index.js';
import { nameOf, type Route, ROUTES } from '../../../kit/routes/route-table.js';
import { declaredPolicies, type Policy, type RouterEntry, routesOf } from '../../../kit/routes/router.js';

/** Preflights, which the CORS plugin answers in a hook; the route beneath is 404. */
const PREFLIGHT = 'OPTIONS *';

let service: TestService;
let entries: RouterEntry[];
beforeAll(async () => {
  const found = await routesOf(() => startService());
  service = found.started;
  entries = found.entries;
});
afterAll(() => service.close());

/** The entries of the router for a row of the table; each GET has its HEAD. */
function entriesOf({ method, path }: Route): string[] {
  return method === 'GET' ? [`GET ${path}`, `HEAD ${path}`] : [`${method} ${path}`];
}

function policyOf(route: Route): Policy {
  const { method, path, access, needsSubscription, unlessGranted, ownsWorkspace } = route;
  const { isUnbound, isUnlimited, seesDeletedUsers } = route;
  return {
    ...{ method, path, access, needsSubscription, unlessGranted, ownsWorkspace },
    ...{ isUnbound, isUnlimited, seesDeletedUsers },
  };
}

const byName = (policies: Policy[]): Record<string, Policy> =>
  Object.fromEntries(policies.map((policy) => [nameOf(policy), policy]));

describe('the route table of the contract', () => {
  it('has every route once', () => {
    const names = ROUTES.map(nameOf);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });

  it('matches the router: no route is missing, none is extra', () => {
    const mounts = new Set(ROUTES.filter(({ method }) => method === 'ALL').map(({ path }) => path));
    const served = entries.map(({ method, path }) =>
      mounts.has(path) ? `ALL ${path}` : `${method} ${path}`,
    );
    const promised = [...ROUTES.flatMap(entriesOf), PREFLIGHT];
    expect([...new Set(served)].sort()).toEqual(promised.sort());
  });

  it('matches the declarations of the handlers: bearer, scopes, subscription, ownership, binding, limit', () => {
    expect(byName(declaredPolicies(service.app))).toEqual(byName(ROUTES.map(policyOf)));
  });

  it('names tables that exist', async () => {
    const tables = await service.database.query<{ name: string }>(
      `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`,
    );
    const known = new Set(tables.map(({ name }) => name));
    expect(ROUTES.flatMap(({ writes = [] }) => writes).filter((table) => !known.has(table))).toEqual([]);
  });
});
