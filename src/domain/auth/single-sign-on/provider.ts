import { Injectable } from '@nestjs/common';
import {
  createRemoteJWKSet,
  customFetch,
  errors,
  type JWTPayload,
  jwtVerify,
  type JWTVerifyGetKey,
} from 'jose';
import { Clock } from '../../../platform/clock.js';
import { Configuration, isSecureAddress } from '../../../platform/config/index.js';
import { equalSecrets } from '../pat-verifier.js';

/** The time of one request, from the connection to the last byte. */
const TIMEOUT_MS = 5_000;

/** Documents of a provider have a few kilobytes. */
const MOST_BYTES = 256 * 1024;

/** The provider gives no usable answer at the moment. The message is for the log. */
export class ProviderAway extends Error {}

export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Sends a request to the provider and reads the answer: within 5 s, at most 256 KiB. Redirects are not followed: they would
 * carry the client secret, or a document's authority, to another address.
 * @throws ProviderAway unless the answer is JSON, with status 200 or 4xx
 */
export async function askProvider(
  address: string,
  init: RequestInit = {},
): Promise<{ status: number; body: JsonObject }> {
  const { origin } = new URL(address);
  try {
    const answer = await fetch(address, {
      ...init,
      headers: { ...(init.headers as Record<string, string>), accept: 'application/json' },
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const isUsable = answer.status === 200 || (answer.status >= 400 && answer.status < 500);
    if (!isUsable) throw new ProviderAway(`${origin} answered ${answer.status}`);
    return { status: answer.status, body: objectIn(await limitedText(answer)) };
  } catch (error) {
    if (error instanceof ProviderAway) throw error;
    throw new ProviderAway(`${origin} gave no answer`, { cause: error });
  }
}

/** Like `askProvider`. @throws ProviderAway also for an answer other than 200 */
export async function documentAt(address: string, init?: RequestInit): Promise<JsonObject> {
  const { status, body } = await askProvider(address, init);
  if (status !== 200) throw new ProviderAway(`${new URL(address).origin} answered ${status}`);
  return body;
}

async function limitedText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > MOST_BYTES) throw new ProviderAway(`an answer has more than ${MOST_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function objectIn(text: string): JsonObject {
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ProviderAway('an answer is not a JSON object');
  return value as JsonObject;
}

/** The published metadata of the provider. */
export interface Metadata {
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly userinfoEndpoint: string | undefined;
  /** Whether the secret is sent in the Authorization header, the standard's default, or else in the body. */
  readonly usesBasic: boolean;
  /** Whether its answers always name the issuer (RFC 9207). */
  readonly namesIssuer: boolean;
  /** The keys with which it signs; they are loaded on first use, and again for an unknown key. */
  readonly keys: JWTVerifyGetKey;
}

const FRESH_MS = 60 * 60_000;

/** After a failure, requests fail at once for this long, so that waiting requests do not accumulate. */
const AWAY_MS = 3_000;

/**
 * The provider's discovery document, loaded at the first sign-in: the service starts, and everything else works, while the
 * provider is unavailable.
 */
@Injectable()
export class ProviderMetadata {
  private known: Metadata | undefined;
  private loadedAt = -Infinity;
  private failedAt = -Infinity;
  private failure: unknown;
  private loading: Promise<Metadata> | undefined;

  constructor(
    private readonly configuration: Configuration,
    private readonly clock: Clock,
  ) {}

  /** At most an hour old, unless the provider has been unavailable since. @throws ProviderAway */
  async get(): Promise<Metadata> {
    if (this.known && this.clock.elapsed() - this.loadedAt < FRESH_MS) return this.known;
    if (this.clock.elapsed() - this.failedAt < AWAY_MS) return this.knownOr(this.failure);
    this.loading ??= this.load().finally(() => (this.loading = undefined));
    return this.loading;
  }

  private async load(): Promise<Metadata> {
    try {
      const { oidcIssuer = '' } = this.configuration;
      const address = `${oidcIssuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
      this.known = metadataOf(await documentAt(address), oidcIssuer);
      this.loadedAt = this.clock.elapsed();
      return this.known;
    } catch (error) {
      this.failure = error;
      this.failedAt = this.clock.elapsed();
      return this.knownOr(error);
    }
  }

  private knownOr(error: unknown): Metadata {
    if (this.known) return this.known;
    throw error;
  }
}

/** @throws ProviderAway when the document is another issuer's, or names an address that is not secure */
function metadataOf(document: JsonObject, issuer: string): Metadata {
  if (document.issuer !== issuer)
    throw new ProviderAway('the discovery document has another issuer than OIDC_ISSUER');
  const methods = document.token_endpoint_auth_methods_supported;
  const jwksUri = new URL(secureAddress(document, 'jwks_uri'));
  return {
    authorizationEndpoint: secureAddress(document, 'authorization_endpoint'),
    tokenEndpoint: secureAddress(document, 'token_endpoint'),
    userinfoEndpoint:
      document.userinfo_endpoint === undefined ? undefined : secureAddress(document, 'userinfo_endpoint'),
    usesBasic: !Array.isArray(methods) || methods.includes('client_secret_basic'),
    namesIssuer: document.authorization_response_iss_parameter_supported === true,
    keys: createRemoteJWKSet(jwksUri, {
      [customFetch]: async (url) => Response.json(await documentAt(url)),
    }),
  };
}

function secureAddress(document: JsonObject, name: string): string {
  const address = document[name];
  if (typeof address !== 'string' || !isSecureAddress(address))
    throw new ProviderAway(`${name} of the discovery document is not an https address`);
  return address;
}

/** An answer, by the provider or forged, that does not prove who signs in. The message is for the log. */
export class BadAnswer extends Error {}

/** Only signatures that a published key verifies: never `none`, never one made with a shared secret. */
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];

/** How far the provider's clock may differ. */
const CLOCK_TOLERANCE_SECONDS = 60;
const MAX_SUBJECT = 255;

/** The person who has signed in at the provider, by a verified ID token. */
export interface Identified {
  /** The provider's own, permanent name for the person. */
  readonly subject: string;
  /** When the person last gave a password or another factor to the provider; now, if the provider does not say. */
  readonly authenticatedAt: Date;
  /** The claims about the person; fetched only when they are needed. @throws ProviderAway, BadAnswer */
  readonly profile: () => Promise<JsonObject>;
}

/** The secrets of one sign-in, which only the browser that began it can supply. */
export interface SignInSecrets {
  readonly nonce: string;
  /** The PKCE verifier. */
  readonly verifier: string;
}

interface SignInRequest {
  readonly state: string;
  readonly nonce: string;
  readonly challenge: string;
  readonly isFresh: boolean;
}

/** The OpenID Connect provider: authorization code flow with PKCE. Its tokens are used here and not stored. */
@Injectable()
export class Provider {
  constructor(
    private readonly configuration: Configuration,
    private readonly metadata: ProviderMetadata,
    private readonly clock: Clock,
  ) {}

  /** The address to which the provider returns the browser. */
  get redirectUri(): string {
    return `${this.configuration.publicUrl}/auth/single-sign-on/callback`;
  }

  /**
   * The address at which a person signs in.
   * @param challenge of the PKCE verifier
   * @param isFresh whether the provider must ask for the password or another factor even if the person is signed in there
   * @throws ProviderAway
   */
  async signInAddress(request: SignInRequest): Promise<string> {
    const { state, nonce, challenge, isFresh } = request;
    const { authorizationEndpoint } = await this.metadata.get();
    const address = new URL(authorizationEndpoint);
    const parameters = {
      response_type: 'code',
      client_id: this.clientId,
      redirect_uri: this.redirectUri,
      scope: 'openid email profile',
      state,
      nonce,
      code_challenge: challenge,
      code_challenge_method: 'S256',
      ...(isFresh ? { prompt: 'login', max_age: '0' } : {}),
    };
    for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value);
    return address.href;
  }

  /** Refuses an answer of another issuer. @param issuer the `iss` of the answer @throws BadAnswer, ProviderAway */
  async checkIssuer(issuer: string | undefined): Promise<void> {
    const { namesIssuer } = await this.metadata.get();
    if (issuer === undefined ? namesIssuer : issuer !== this.issuer)
      throw new BadAnswer('the answer names another issuer, or none');
  }

  /** Exchanges the code of an answer for the proof of who signed in. @throws BadAnswer, ProviderAway */
  async identify(code: string, { nonce, verifier }: SignInSecrets): Promise<Identified> {
    const metadata = await this.metadata.get();
    const tokens = await this.exchange(code, verifier, metadata);
    if (typeof tokens.id_token !== 'string') throw new BadAnswer('there is no ID token');
    const claims = await this.verified(tokens.id_token, nonce, metadata);
    const { sub: subject = '' } = claims;
    if (subject.length === 0 || subject.length > MAX_SUBJECT || subject.includes('\0'))
      throw new BadAnswer('the subject is not 1 to 255 characters');
    const now = this.clock.now().getTime();
    const { auth_time: authTime } = claims;
    const authenticatedAt = new Date(typeof authTime === 'number' ? Math.min(authTime * 1000, now) : now);
    return {
      subject,
      authenticatedAt,
      profile: () => profileOf(subject, claims, tokens.access_token, metadata),
    };
  }

  private get issuer(): string {
    return this.configuration.oidcIssuer ?? '';
  }

  private get clientId(): string {
    return this.configuration.oidcClientId ?? '';
  }

  private async exchange(code: string, verifier: string, metadata: Metadata): Promise<JsonObject> {
    const { clientId, redirectUri } = this;
    const { oidcClientSecret: secret = '' } = this.configuration;
    const form = new URLSearchParams({
      ...{ grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier },
      ...(metadata.usesBasic ? {} : { client_id: clientId, client_secret: secret }),
    });
    const { status, body } = await askProvider(metadata.tokenEndpoint, {
      method: 'POST',
      headers: metadata.usesBasic ? { authorization: basicOf(clientId, secret) } : {},
      body: form,
    });
    // Only these fixed texts are logged: the rest of the answer stays out of the log.
    if (body.error === 'invalid_client') throw new ProviderAway('the provider refuses OIDC_CLIENT_SECRET');
    if (status !== 200) throw new BadAnswer('the provider refuses the code');
    return body;
  }

  private async verified(idToken: string, nonce: string, { keys }: Metadata): Promise<JWTPayload> {
    const { clientId } = this;
    try {
      const { payload } = await jwtVerify(idToken, keys, {
        algorithms: ALGORITHMS,
        issuer: this.issuer,
        audience: clientId,
        requiredClaims: ['sub', 'exp', 'iat', 'nonce'],
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        currentDate: this.clock.now(),
      });
      if (typeof payload.nonce !== 'string' || !equalSecrets(payload.nonce, nonce))
        throw new BadAnswer('the ID token has another nonce');
      const needsParty = [payload.aud].flat().length > 1 || payload.azp !== undefined;
      if (needsParty && payload.azp !== clientId)
        throw new BadAnswer('the ID token was issued to another service');
      return payload;
    } catch (error) {
      // The messages name the claim, never its value.
      if (error instanceof errors.JOSEError) throw new BadAnswer(`the ID token: ${error.message}`);
      throw error;
    }
  }
}

/** RFC 6749 requires that both parts are form-encoded first. */
function basicOf(clientId: string, secret: string): string {
  const [id, password] = [clientId, secret].map((part) => new URLSearchParams({ part }).toString().slice(5));
  return `Basic ${Buffer.from(`${id}:${password}`).toString('base64')}`;
}

/** The claims of the ID token, or those of the userinfo endpoint when the token has no address. */
async function profileOf(
  subject: string,
  claims: JWTPayload,
  accessToken: unknown,
  { userinfoEndpoint }: Metadata,
): Promise<JsonObject> {
  if (claims.email !== undefined || userinfoEndpoint === undefined || typeof accessToken !== 'string')
    return claims;
  const profile = await documentAt(userinfoEndpoint, { headers: { authorization: `Bearer ${accessToken}` } });
  if (profile.sub !== subject) throw new BadAnswer('the profile is that of another person');
  return profile;
}
