import { type Example, type Route, ROUTES, type Target } from './route-table.js';

/** A way to spell a request, as proxies and attackers do. */
export interface Form {
  readonly name: string;
  /** Undefined when the route has no such form. */
  readonly spell: (route: Route, path: string) => Spelling | undefined;
  /** Whether the request has the fault of the route. */
  readonly isBroken?: true;
}

export interface Spelling {
  readonly method: string;
  readonly path: string;
}

const methodOf = ({ method }: Route): string => (method === 'ALL' ? 'GET' : method);

const respelt =
  (change: (path: string) => string): Form['spell'] =>
  (route, path) => ({ method: methodOf(route), path: change(path) });

export const FORMS: readonly Form[] = [
  { name: 'as it is', spell: respelt((path) => path) },
  {
    name: 'HEAD',
    spell: (route, path) => (methodOf(route) === 'GET' ? { method: 'HEAD', path } : undefined),
  },
  {
    name: 'with a fault of its own',
    spell: (route, path) => (route.broken ? { method: methodOf(route), path } : undefined),
    isBroken: true,
  },
  { name: 'trailing slash', spell: respelt((path) => `${path}/`) },
  { name: 'leading double slash', spell: respelt((path) => `/${path}`) },
  { name: 'double slash inside', spell: respelt((path) => path.replace(/\/(?=[^/]+$)/, '//')) },
  {
    name: 'a letter percent-encoded',
    spell: (route, path) =>
      /[a-z]/.test(route.path)
        ? { method: methodOf(route), path: withEncodedLetter(route, path) }
        : undefined,
  },
  { name: 'a slash percent-encoded', spell: respelt((path) => path.replace(/(?<=.)\/(?=[^/]+$)/, '%2F')) },
  { name: 'upper case', spell: respelt((path) => path.toUpperCase()) },
  {
    name: 'the workspace in capitals',
    spell: (route, path) =>
      route.ownsWorkspace ? { method: methodOf(route), path: withCapitalId(path) } : undefined,
  },
  { name: 'behind a semicolon', spell: respelt((path) => `${path};jsessionid=1`) },
  { name: 'a dot segment', spell: respelt((path) => path.replace(/\/(?=[^/]+$)/, '/./')) },
  { name: 'a climb from a public path', spell: respelt((path) => `/health/..${path}`) },
  { name: 'an absolute address', spell: respelt((path) => `http://elsewhere.example${path}`) },
  { name: 'no slash in front', spell: respelt((path) => path.replace('/', '*')) },
];

/** Encodes the first letter of the last segment of the pattern that is not a parameter. */
function withEncodedLetter({ path: pattern }: Route, path: string): string {
  const at = pattern.split('/').findLastIndex((segment) => /^[a-z]/.test(segment));
  const segments = path.split('/');
  segments[at] = segments[at]!.replace(/^./, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
  return segments.join('/');
}

const withCapitalId = (path: string): string =>
  path.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/, (id) => id.toUpperCase());

/** The path of an example, with its parameters filled in. */
export function pathTo({ path }: Route, { params = {} }: Example, { workspaceId }: Target): string {
  return path.replace(/:(\w+)|\*/g, (whole, name: string | undefined) => {
    return params[name ?? whole] ?? (name === 'id' ? workspaceId : whole);
  });
}

export interface Match {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

/**
 * The route that serves a request: segments are percent-decoded one by one and compared exactly, with case;
 * a parameter matches any non-empty segment; a literal segment wins. The host of an address is ignored.
 */
export function serving({ method, path }: Spelling): Match | undefined {
  const spelt = `${method} ${path}`;
  if (!SERVED.has(spelt)) SERVED.set(spelt, found(method, path));
  return SERVED.get(spelt);
}

/** Results so far, because all credentials use the same spellings. */
const SERVED = new Map<string, Match | undefined>();

function found(method: string, path: string): Match | undefined {
  // Paths of the identity handler have one spelling, so that no other evades a proxy's rules for sign-in.
  if (path.includes('%') && decodeURIComponent(path).includes('/api/auth/')) return undefined;
  const segments = path
    .replace(/^https?:\/\/[^/]+/, '')
    .split('/')
    .map(decodeURIComponent);
  const matches = PATTERNS.flatMap(({ route, wanted }) => {
    const params = isServed(route, method) && paramsOf(wanted, segments);
    return params ? [{ route, params }] : [];
  });
  return matches.sort((a, b) => Object.keys(a.params).length - Object.keys(b.params).length)[0];
}

function isServed(route: Route, method: string): boolean {
  if (route.method === 'ALL') return true;
  return route.method === method || (method === 'HEAD' && route.method === 'GET');
}

const PATTERNS = ROUTES.map((route) => ({ route, wanted: route.path.split('/') }));

function paramsOf(wanted: string[], segments: string[]): Record<string, string> | undefined {
  const hasRest = wanted.at(-1) === '*';
  if (hasRest ? segments.length < wanted.length : segments.length !== wanted.length) return undefined;
  const params: Record<string, string> = {};
  for (const [at, segment] of wanted.entries()) {
    if (segment === '*') params['*'] = segments.slice(at).join('/');
    else if (segment.startsWith(':') && segments[at]) params[segment.slice(1)] = segments[at];
    else if (segment !== segments[at]) return undefined;
  }
  return params;
}
