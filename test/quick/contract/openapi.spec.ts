import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ApiDocuments, documentText as textOf } from '../../../src/web/api-reference/index.js';
import type { ApiDocument } from '../../../src/platform/api-docs/index.js';
import { allRoutes, documentText, operationsOf, pagesText, schemaCompiler } from '../../kit/api-document.js';
import { startService, type TestService } from '../../kit/index.js';
import { absentTarget, ROUTES } from '../../kit/routes/route-table.js';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const METHODS = ['get', 'put', 'post', 'patch', 'delete'];

let service: TestService;
let document: ApiDocument;
let pages: ApiDocument;
let served: string;
beforeAll(async () => {
  service = await startService();
  document = await service.app.get(ApiDocuments).document();
  pages = await service.app.get(ApiDocuments).pages();
  served = await (await fetch(`${service.url}/openapi.json`)).text();
});
afterAll(() => service.close());

const operations = () => operationsOf(document);

/** Every object in the document, with its JSON pointer. */
function* objectsIn(value: unknown, at = '#'): Generator<[string, Record<string, unknown>]> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield [at, value as Record<string, unknown>];
  for (const [key, child] of Object.entries(value)) yield* objectsIn(child, `${at}/${key}`);
}

const pointed = (ref: string): unknown =>
  ref
    .split('/')
    .slice(1)
    .reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], document);

describe('docs/openapi.json', () => {
  it('matches the answer of the service at /openapi.json; `npm run openapi` writes it', () => {
    expect(JSON.parse(documentText())).toEqual(JSON.parse(served)); // shows what differs in the document
    expect(documentText().split('\n')).toEqual(served.split('\n')); // and in its text
  });
});

describe('docs/internals/pages.openapi.json', () => {
  it('describes the pages of the service; `npm run openapi` writes it', () => {
    expect(pagesText().split('\n')).toEqual(textOf(pages).split('\n'));
  });

  it('has no operation of the API document', () => {
    const api = new Set(operations().map(({ method, path }) => `${method} ${path}`));
    expect(operationsOf(pages).filter(({ method, path }) => api.has(`${method} ${path}`))).toEqual([]);
  });
});

describe('docs/reference/routes.md', () => {
  it('lists the routes and operations of both documents; `npm run openapi` writes it', async () => {
    const script = pathToFileURL(join(ROOT, 'scripts/routes-text.mjs')).href;
    const { routesText } = (await import(script)) as { routesText: (...documents: ApiDocument[]) => string };
    const page = readFileSync(join(ROOT, 'docs/reference/routes.md'), 'utf8');
    expect(page.split('\n')).toEqual(routesText(document, pages).split('\n'));
    expect(page.match(/^\| `/gm)).toHaveLength(operations().length + operationsOf(pages).length);
    for (const { operation } of operations()) expect(page).toContain(`| \`${operation.operationId}\` |`);
  });
});

describe('the two documents', () => {
  it('describe every route of the router, and no other', () => {
    const templates = ROUTES.filter(({ method }) => method !== 'ALL').map(
      ({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}').replace(/\*$/, '{path}')}`,
    );
    const described = operationsOf(allRoutes())
      .filter(({ path }) => !/^\/api\/auth\//.test(path))
      .map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    expect(described.sort()).toEqual(templates.sort());
  });
});

describe('the API document', () => {
  it('is OpenAPI 3.1 with the required members', () => {
    expect(document.openapi).toMatch(/^3\.1\.\d+$/);
    expect(document.info).toEqual({
      title: expect.any(String),
      version: expect.any(String),
      description: expect.any(String),
    });
    const members = ['openapi', 'info', 'servers', 'tags', 'paths', 'components'];
    expect(Object.keys(document).sort()).toEqual(members.sort());
  });

  it('describes the reachable part of the identity handler', () => {
    const mounted = operations().filter(({ path }) => /^\/api\/auth\//.test(path));
    expect(mounted.map(({ method, path }) => `${method} ${path.replace('/api/auth/', '')}`).sort()).toEqual([
      'get get-session',
      'get jwks',
      'get list-sessions',
      'get one-time-token/generate',
      'get passkey/generate-authenticate-options',
      'get passkey/generate-register-options',
      'get passkey/list-user-passkeys',
      'get token',
      'post change-password',
      'post one-time-token/verify',
      'post passkey/delete-passkey',
      'post passkey/update-passkey',
      'post passkey/verify-authentication',
      'post passkey/verify-registration',
      'post request-password-reset',
      'post reset-password',
      'post revoke-other-sessions',
      'post revoke-session',
      'post send-verification-email',
      'post sign-in/email',
      'post sign-out',
      'post sign-up/email',
      'post two-factor/disable',
      'post two-factor/enable',
      'post two-factor/generate-backup-codes',
      'post two-factor/verify-backup-code',
      'post two-factor/verify-totp',
      'post update-user',
    ]);
  });

  it('has only methods, statuses and media types that exist', () => {
    for (const { method, operation } of operations()) {
      expect(METHODS).toContain(method);
      const statuses = Object.keys(operation.responses);
      expect(statuses.filter((status) => !/^[1-5]\d\d$/.test(status))).toEqual([]);
      expect(statuses.some((status) => status < '400' || statuses.length < 8)).toBe(true);
      const contents = [operation.requestBody, ...Object.values(operation.responses)];
      const types = contents.flatMap((one) => Object.keys(one?.content ?? {}));
      expect(types.filter((type) => !/^[a-z]+\/[a-z0-9.+-]+$/.test(type))).toEqual([]);
    }
  });

  it('has unique operationIds that can be names of functions', () => {
    const ids = operations().map(({ operation }) => operation.operationId);
    expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
    expect(ids.filter((id) => !/^[a-z][a-zA-Z]+\.[a-z][a-zA-Z]+$/.test(id))).toEqual([]);
    // A function of a generated client is called `filesUpload`: names are unique in that form too.
    const functions = ids.map((id) => id.replace('.', '').toLowerCase());
    expect(new Set(functions).size).toBe(ids.length);
    const isStutter = (id: string): boolean => id.split('.')[0] === id.split('.')[1];
    expect(ids.filter(isStutter)).toEqual([]);
    expect(ids).toEqual(
      expect.arrayContaining([
        ...['files.upload', 'files.download', 'workspaces.create', 'identity.signIn', 'auth.me', 'sync.pull'],
      ]),
    );
  });

  it('has one group of operationIds for each tag', () => {
    const groups = new Map<string, Set<string>>();
    for (const { operation } of operations()) {
      const [tag = ''] = operation.tags;
      const group = operation.operationId.split('.')[0] ?? '';
      groups.set(tag, (groups.get(tag) ?? new Set()).add(group));
    }
    expect([...groups].filter(([, names]) => names.size > 1)).toEqual([]);
    expect(new Set([...groups.values()].flatMap((names) => [...names])).size).toBe(groups.size);
  });

  it('has a summary and descriptions for readers', () => {
    for (const { operation } of operations()) {
      expect(operation.summary).toMatch(/^\S.{3,80}$/);
      for (const { description } of Object.values(operation.responses)) expect(description).not.toBe('');
    }
  });

  it('has no pages', () => {
    const types = operations().flatMap(({ operation }) =>
      [operation.requestBody, ...Object.values(operation.responses)].flatMap((one) =>
        Object.keys(one?.content ?? {}),
      ),
    );
    expect([...new Set(types)].sort()).toEqual([
      'application/cbor-seq',
      'application/json',
      'application/octet-stream',
      'application/x-tar',
      'text/plain',
    ]);
  });

  it('groups each operation under one described tag', () => {
    const names = document.tags.map(({ name }) => name);
    for (const { operation } of operations()) {
      expect(operation.tags.length).toBe(1);
      expect(names).toContain(operation.tags[0]);
    }
  });

  it('has references that resolve', () => {
    const broken = [...objectsIn(document)].filter(
      ([, { $ref }]) => typeof $ref === 'string' && !pointed($ref),
    );
    expect(broken).toEqual([]);
  });

  it('uses every component', () => {
    const used = new Set([...objectsIn(document)].map(([, { $ref }]) => $ref));
    const { schemas, headers } = document.components;
    const unused = [
      ...Object.keys(schemas).map((name) => `#/components/schemas/${name}`),
      ...Object.keys(headers).map((name) => `#/components/headers/${name}`),
    ].filter((ref) => !used.has(ref));
    expect(unused).toEqual([]);
  });

  it('declares each parameter once, and those of the path as required', () => {
    for (const { path, operation } of operations()) {
      const { parameters = [] } = operation;
      const inPath = parameters.filter((parameter) => parameter.in === 'path');
      const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      expect(inPath.map(({ name }) => name).sort()).toEqual(names.sort());
      expect(inPath.every(({ required }) => required)).toBe(true);
      const all = parameters.map((parameter) => `${parameter.in} ${parameter.name.toLowerCase()}`);
      expect(new Set(all).size).toBe(all.length);
    }
  });

  it('has security requirements that name schemes, and uses each scheme', () => {
    const named = operations().flatMap(({ operation }) => operation.security.flatMap(Object.keys));
    expect([...new Set(named)].sort()).toEqual(Object.keys(document.components.securitySchemes).sort());
  });

  it('requires a session, a key session or a bearer for every operation that is not open', () => {
    const securityOf = (id: string) =>
      operations().find((one) => one.operation.operationId === id)?.operation.security;
    expect(securityOf('auth.me')).toEqual([{ bearer: [] }]);
    expect(securityOf('accessTokens.create')).toEqual([{ interactive: [] }]);
    expect(securityOf('files.upload')).toEqual([{ bearer: ['documents:write'] }]);
    expect(securityOf('identity.getToken')).toEqual([{ sessionToken: [] }, { sessionCookie: [] }]);
    expect(securityOf('identity.getSession')).toEqual([{ sessionToken: [] }, { sessionCookie: [] }, {}]);
    expect(securityOf('automation.getNote')).toEqual([{ bearer: ['documents:read'], keySession: [] }]);
    const open = operations().filter(({ operation }) => operation.security.length === 0);
    expect(open.map(({ operation }) => operation.operationId).sort()).toEqual([
      'auth.devLogin',
      'factors.beginPasskeySignIn',
      'factors.signInWithPasskey',
      'identity.getPublicKeys',
      'identity.requestPasswordReset',
      'identity.resetPassword',
      'identity.sendVerificationEmail',
      'identity.signIn',
      'identity.signUp',
      'identity.verifyOneTimeToken',
      'service.getApiDocument',
      'service.getHealth',
      'service.getReadiness',
      'subscription.receivePaymentEvent',
    ]);
  });

  it('has no parameter for a header of a security scheme', () => {
    const names = operations().flatMap(({ operation }) =>
      (operation.parameters ?? []).map(({ name }) => name),
    );
    expect(names.filter((name) => /^(?:authorization|x-key-session|cookie)$/i.test(name))).toEqual([]);
  });

  it('names no schema like a global of JavaScript, which a generated type would hide', () => {
    expect(Object.keys(document.components.schemas).filter((name) => name in globalThis)).toEqual([]);
  });

  it('has binary bodies for uploads and downloads', () => {
    const binary = operations()
      .flatMap(({ operation: { operationId, requestBody, responses } }) => [
        ...Object.entries(requestBody?.content ?? {}).map(
          (content) => [`${operationId} body`, content] as const,
        ),
        ...Object.entries(responses).flatMap(([status, { content = {} }]) =>
          Object.entries(content).map((one) => [`${operationId} ${status}`, one] as const),
        ),
      ])
      .filter(([, [type]]) => type === 'application/octet-stream');
    expect(binary.map(([where]) => where)).toEqual(
      expect.arrayContaining([
        ...['files.upload body', 'files.download 200', 'files.download 206', 'versions.download 200'],
      ]),
    );
    for (const [, [, { schema }]] of binary) expect(schema).toEqual({ type: 'string', format: 'binary' });
  });

  it('has examples that their schemas accept', () => {
    const compile = schemaCompiler(document);
    const examples = operations().flatMap(({ operation: { operationId, requestBody, responses } }) =>
      [requestBody, ...Object.values(responses)]
        .flatMap((one) => Object.values(one?.content ?? {}))
        .filter(({ example }) => example !== undefined)
        .map(({ schema = {}, example }) => {
          const validate = compile(schema);
          return { operationId, isValid: validate(example), errors: validate.errors };
        }),
    );
    expect(examples.length).toBeGreaterThan(20);
    expect(examples.filter(({ isValid }) => !isValid)).toEqual([]);
  });

  it('has schemas that compile, without unknown keywords', () => {
    const compile = schemaCompiler(document);
    const schemas = [...objectsIn(document)].filter(([at]) =>
      /(?:\/schema|\/components\/schemas\/\w+)$/.test(at),
    );
    expect(schemas.length).toBeGreaterThan(200);
    for (const [, schema] of schemas) expect(() => compile(schema)).not.toThrow();
  });

  it('accepts the example bodies of the route table', () => {
    const compile = schemaCompiler(document);
    const checked = ROUTES.flatMap(({ method, path, example }) => {
      const template = path.replace(/:(\w+)/g, '{$1}').replace(/\*$/, '{path}');
      const body = example?.(absentTarget()).body;
      const operation = document.paths[template]?.[method.toLowerCase()];
      const schema = operation?.requestBody?.content['application/json']?.schema;
      if (typeof body !== 'object' || !schema) return [];
      const validate = compile(schema);
      const isValid = validate(body);
      const hasNone = validate({ nothing: 'of it' });
      return [{ path, isValid, errors: isValid ? null : validate.errors, takesAnything: hasNone }];
    });
    expect(checked.filter(({ isValid }) => !isValid)).toEqual([]);
    expect(checked.length).toBeGreaterThan(15);
    const open = checked.filter(({ takesAnything }) => takesAnything).map(({ path }) => path);
    // An event of the provider, and a key session that is opened by either of two keys.
    expect(open).toEqual(['/api/v1/webhooks/payment', '/api/v1/automation/workspaces/:id/key-sessions']);
  });

  it('has a schema for each JSON answer, and only named keys in answers', () => {
    const contents = operations().flatMap(({ operation }) =>
      Object.values(operation.responses).map(({ content }) => content?.['application/json']),
    );
    expect(contents.filter((content) => content && !content.schema)).toEqual([]);
    const open = Object.entries(document.components.schemas).filter(
      ([name, { type, additionalProperties }]) =>
        type === 'object' && additionalProperties !== false && !isOfRequest(name),
    );
    expect(open.map(([name]) => name)).toEqual([]);
  });
});

/** A body of a request may have more members, which are dropped. */
function isOfRequest(name: string): boolean {
  const inAnswers = JSON.stringify(operations().map(({ operation }) => operation.responses));
  return !inAnswers.includes(`"#/components/schemas/${name}"`);
}
