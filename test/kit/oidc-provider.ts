import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import Provider from 'oidc-provider';
import { freePort } from '../../bench/free-port.js';
import { Visitor } from './visitor.js';

/** A request to the provider and its answer. */
type Exchange = Parameters<Parameters<Provider['use']>[0]>[0];

/** A person with an account at the provider. */
export interface Person {
  readonly sub: string;
  readonly email?: string;
  readonly email_verified?: unknown;
  readonly name?: string;
}

export type Claims = Record<string, unknown>;

/** A fault in place of an answer. `elsewhere`: redirects the browser to the provider's other host name. */
export type Fault = 'away' | 'slow' | 'huge' | 'redirect' | 'broken' | 'elsewhere';

/** Forges an ID token from the claims of the real one. */
export type Forger = (claims: Claims) => Promise<string> | string;

export const CLIENT_ID = 'sync-service';
export const CLIENT_SECRET = 'a secret: with /special+characters%';

export interface OidcOptions {
  /** URL of the service; the provider redirects browsers only there. */
  readonly serviceUrl: string;
  readonly hasEmailInIdToken?: boolean;
  readonly authMethod?: 'client_secret_basic' | 'client_secret_post';
}

/** The library prints that its defaults are for development, which tests know. The console is put back after the file. */
function keepQuietAboutDefaults(): void {
  for (const level of ['info', 'warn'] as const) {
    const print = console[level];
    jest
      .spyOn(console, level)
      .mockImplementation((...texts) => String(texts[0]).startsWith('oidc-provider ') || print(...texts));
  }
}

/** A real OpenID Connect provider on a local port, with answers that a test can spoil. */
export class OidcProvider {
  readonly people = new Map<string, Person>();
  /** Requests by path, such as `POST /token`. */
  readonly requests: string[] = [];
  /** By prefix of the path. */
  readonly faults = new Map<string, Fault>();
  /** Bytes sent in endless answers. */
  poured = 0;
  forge: Forger | undefined;
  /** Overrides fields of the discovery document. */
  discovery: Claims = {};
  /** The tokens issued last. */
  readonly handedOut: string[] = [];

  private constructor(
    private readonly server: Server,
    readonly url: string,
    private readonly key: CryptoKey,
    private readonly kid: string,
  ) {}

  static async start(options: OidcOptions): Promise<OidcProvider> {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const { privateKey } = await generateKeyPair('RS256', { extractable: true });
    const jwk = { ...(await exportJWK(privateKey)), kid: 'the-key', use: 'sig', alg: 'RS256' };
    keepQuietAboutDefaults();
    const provider = new Provider(
      url,
      configurationOf(options, jwk, (sub) => started.people.get(sub)),
    );
    provider.use((ctx, next) => started.handle(provider, ctx, next));
    const answer = provider.callback();
    const server = createServer((request, response) => void answer(request, response));
    const started = new OidcProvider(server, url, privateKey, jwk.kid);
    await once(server.listen(port, '127.0.0.1'), 'listening');
    return started;
  }

  /** The settings of a service that uses it. */
  get env(): Record<string, string> {
    return {
      OIDC_ISSUER: this.url,
      OIDC_CLIENT_ID: CLIENT_ID,
      OIDC_CLIENT_SECRET: CLIENT_SECRET,
      OIDC_NAME: 'Our Login',
    };
  }

  /** A person, by default with a verified address. */
  person(name: string, claims: Partial<Person> = {}): Person {
    const person = {
      sub: `sub-${name}`,
      email: `${name}@example.org`,
      email_verified: true,
      name,
      ...claims,
    };
    this.people.set(person.sub, person);
    return person;
  }

  /** Signs claims with its own key. */
  sign(claims: Claims, key: CryptoKey | Uint8Array = this.key, alg = 'RS256'): Promise<string> {
    return new SignJWT(claims).setProtectedHeader({ alg, kid: this.kid }).sign(key);
  }

  /** Signs a person in at the provider with a separate browser. Returns the path that it redirects to. */
  async signIn(address: string, { sub }: Person, browser = new Visitor(this.url)): Promise<string> {
    let answer = await browser.get(pathOf(address));
    if (answer.headers.location?.includes('/interaction/')) {
      answer = await browser.get(pathOf(answer.headers.location));
      answer = await browser.submit(answer, 'Sign in', { login: sub });
      answer = await browser.get(pathOf(String(answer.headers.location)));
    }
    return pathOf(String(answer.headers.location));
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  private async handle(provider: Provider, ctx: Exchange, next: () => Promise<void>): Promise<void> {
    this.requests.push(`${ctx.method} ${ctx.path}`);
    const fault = [...this.faults].find(([path]) => ctx.path.startsWith(path))?.[1];
    const isElsewhere = fault === 'elsewhere' && ctx.hostname === 'localhost';
    if (fault === 'huge') {
      pour(ctx, (bytes) => (this.poured += bytes));
      return;
    }
    if (fault && !isElsewhere) {
      spoil(ctx, fault);
      return;
    }
    if (ctx.path.startsWith('/interaction/')) return interact(provider, ctx);
    await next();
    const body = ctx.body as Claims | undefined;
    if (ctx.path === '/.well-known/openid-configuration') ctx.body = { ...body, ...this.discovery };
    if (ctx.path === '/token' && typeof body?.id_token === 'string') {
      if (this.forge) body.id_token = await this.forge(claimsOf(body.id_token));
      this.handedOut.push(
        ...Object.values(body)
          .filter((value) => String(value).length > 20)
          .map(String),
      );
    }
  }
}

export const claimsOf = (token: string): Claims =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Claims;

const pathOf = (address: string): string => {
  const { pathname, search } = new URL(address, 'http://here');
  return pathname + search;
};

function configurationOf(
  { serviceUrl, hasEmailInIdToken = false, authMethod = 'client_secret_basic' }: OidcOptions,
  jwk: JWK,
  personOf: (sub: string) => Person | undefined,
): ConstructorParameters<typeof Provider>[1] {
  return {
    clients: [
      {
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        redirect_uris: [`${serviceUrl}/auth/single-sign-on/callback`],
        token_endpoint_auth_method: authMethod,
      },
    ],
    clientAuthMethods: [authMethod],
    jwks: { keys: [jwk] },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    pkce: { required: () => true },
    conformIdTokenClaims: !hasEmailInIdToken,
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    findAccount: (_, sub) => {
      const person = personOf(sub);
      return person && { accountId: sub, claims: () => ({ ...person }) };
    },
    // Grants consent without asking.
    loadExistingGrant: async ({ oidc }) => {
      const grant = new oidc.provider.Grant({
        clientId: CLIENT_ID,
        accountId: oidc.session?.accountId ?? '',
      });
      grant.addOIDCScope('openid email profile');
      await grant.save();
      return grant;
    },
  };
}

/** The sign-in page: accepts any user name. */
async function interact(provider: Provider, ctx: Exchange): Promise<void> {
  if (ctx.method === 'GET') {
    ctx.type = 'html';
    ctx.body = `<!doctype html><title>Our Login</title>
      <form method="post" action="${ctx.path}" aria-label="Sign in"><label>Who are you? <input name="login"></label>
      <button>Sign in</button> <button name="cancel" value="yes">Cancel</button></form>`;
    return;
  }
  const chunks: Buffer[] = [];
  for await (const chunk of ctx.req) chunks.push(chunk as Buffer);
  const form = new URLSearchParams(Buffer.concat(chunks).toString());
  const result = form.has('cancel')
    ? { error: 'access_denied', error_description: 'cancelled' }
    : { login: { accountId: form.get('login') ?? '' } };
  ctx.respond = false;
  await provider.interactionFinished(ctx.req, ctx.res, result, { mergeWithLastSubmission: false });
}

function spoil(ctx: Exchange, fault: Fault): void {
  if (fault === 'redirect') {
    ctx.redirect('https://elsewhere.example/');
    return;
  }
  if (fault === 'elsewhere') {
    ctx.redirect(`http://localhost:${ctx.host.split(':')[1]}${ctx.url}`);
    return;
  }
  if (fault === 'broken') {
    ctx.body = '{"not": "JSON';
    return;
  }
  ctx.respond = false;
  if (fault === 'away') ctx.req.socket.destroy();
}

/** Sends JSON that never ends. */
function pour(ctx: Exchange, count: (bytes: number) => void): void {
  const { res } = ctx;
  ctx.respond = false;
  res.writeHead(200, { 'content-type': 'application/json' });
  res.write('{"a":"');
  const chunk = 'a'.repeat(64 * 1024);
  const more = (): void => {
    do count(chunk.length);
    while (!res.destroyed && res.write(chunk));
  };
  res.on('drain', more);
  more();
}
