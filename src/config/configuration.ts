import 'reflect-metadata';
import { IsIn, IsInt, IsOptional, IsUrl, Matches, Max, Min, MinLength } from 'class-validator';
import { Env } from './env.decorator.js';

const KIB = 1024;
const MIB = 1024 * KIB;

const HTTP_URL = { require_tld: false, require_protocol: true, protocols: ['http', 'https'] };

/**
 * Everything the environment can set, read once at start. A property's `@Env` names its variable and says
 * what it means; `.env.example` is printed from here.
 */
export class Configuration {
  @Env('NODE_ENV', 'production: no secret has a default, errors of set-up stop the start', 'development')
  @IsIn(['development', 'test', 'production'])
  nodeEnv: string;

  @Env('PORT', 'listen port; 0 takes a free one and prints it', '8787')
  @IsInt()
  @Min(0)
  @Max(65535)
  port: number;

  @Env('HOST', 'listen address; 0.0.0.0 for all interfaces', '127.0.0.1')
  @MinLength(1)
  host: string;

  @Env(
    'BASE_URL',
    'public address: issuer and audience of the JWTs, origin of the cookies; http://localhost:PORT when unset',
  )
  @IsOptional()
  @IsUrl(HTTP_URL)
  @Matches(/^https?:\/\/[^/?#]+$/, {
    message: '$property must be an origin such as https://sync.example.org, without a path',
  })
  baseUrl?: string;

  @Env('DATA_DIR', 'embedded database, blobs on disk and development secrets', './data')
  @MinLength(1)
  dataDir: string;

  @Env('DATABASE_URL', 'an external PostgreSQL 15 or later; unset: an embedded PostgreSQL under DATA_DIR')
  @IsOptional()
  @Matches(/^postgres(ql)?:\/\/\S+$/, { message: '$property must be a postgres:// URL' })
  databaseUrl?: string;

  @Env(
    'DATABASE_POOL_SIZE',
    'connections of this instance; all instances together stay below max_connections',
    '10',
  )
  @IsInt()
  @Min(2)
  @Max(200)
  databasePoolSize: number;

  @Env(
    'AUTH_SECRET',
    'secret of the identity handler, 32 characters or more; made once under DATA_DIR in development',
    undefined,
    { secret: true },
  )
  @IsOptional()
  @MinLength(32)
  authSecret?: string;

  @Env('SIGNUP_ENABLED', 'whether POST /api/auth/sign-up/email creates accounts', 'true')
  @IsIn([true, false], { message: '$property must be true or false' })
  signupEnabled: boolean;

  @Env(
    'DEV_LOGIN_KEY',
    'enables POST /api/v1/auth/dev-login for callers that know it; never in production',
    undefined,
    { secret: true },
  )
  @IsOptional()
  @MinLength(8)
  devLoginKey?: string;

  @Env('TRUSTED_ORIGINS', 'further browser origins, comma-separated')
  @Matches(/^https?:\/\/[^/?#\s*]+$/, {
    each: true,
    message: '$property must be origins such as https://notes.example.org, comma-separated',
  })
  trustedOrigins: string[];

  @Env(
    'TRUST_PROXY',
    'true behind a reverse proxy: the last address in X-Forwarded-For is the client',
    'false',
  )
  @IsIn([true, false], { message: '$property must be true or false' })
  trustProxy: boolean;

  @Env('SUBSCRIPTIONS', 'off: every user is active (self-hosting without payments)', 'on')
  @IsIn(['on', 'off'])
  subscriptions: string;

  @Env('BILLING_GRACE_DAYS', 'days a past_due subscription stays active', '7')
  @IsInt()
  @Min(0)
  @Max(365)
  billingGraceDays: number;

  @Env('MAX_FILE_BYTES', 'largest file body in bytes', String(100 * MIB))
  @IsInt()
  @Min(0)
  maxFileBytes: number;

  @Env(
    'INLINE_BLOB_BYTES',
    'blobs up to this size are kept in PostgreSQL, larger ones in the blob store; 0: all in the store',
    String(64 * KIB),
  )
  @IsInt()
  @Min(0)
  @Max(MIB)
  inlineBlobBytes: number;

  @Env(
    'RATE_LIMIT_PER_MINUTE',
    '0 switches all rate limits off (tests, benchmarks, a limiter in front)',
    '1200',
  )
  @IsInt()
  @Min(0)
  rateLimitPerMinute: number;

  @Env('LOG_LEVEL', 'JSON lines on stdout, pretty on a terminal', 'info')
  @IsIn(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
  logLevel: string;

  /** Public address, without a trailing slash. */
  get publicUrl(): string {
    return this.baseUrl ?? `http://localhost:${this.port}`;
  }

  get isProduction(): boolean {
    return this.nodeEnv === 'production';
  }
}
