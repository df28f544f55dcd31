import { Injectable } from '@nestjs/common';
import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from 'jose';
import { Configuration, isSecureAddress } from '../../../platform/config/index.js';
import { Clock } from '../../../platform/clock/index.js';
import { documentAt, type JsonObject, ProviderAway } from './provider-fetch.js';

/** What the provider publishes about itself. */
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

/** After a failure, requests are refused at once for this long: those who wait must not multiply. */
const AWAY_MS = 3_000;

/**
 * The provider's discovery document, loaded when somebody first signs in: the service starts, and everything else works, while
 * the provider is away.
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

  /** An hour old at most, unless the provider has been away since. @throws ProviderAway */
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
