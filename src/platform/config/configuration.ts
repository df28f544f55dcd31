import 'reflect-metadata';
import { IsIn, IsUrl, Matches, MaxLength, MinLength } from 'class-validator';
import {
  BackupPlace,
  CallbackAddress,
  Env,
  HTTP_URL,
  IsFutureCron,
  IssuerAddress,
  MailSender,
  originOf,
  Secret,
  ServerUrl,
  SmtpUrl,
  StoreAddress,
  TrustedOrigins,
  WholeNumber,
} from './validators.js';
import { DatabaseParameters, s3Address } from './database-parameters.js';

const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;

export interface BackupStore {
  /** Whether it has its own settings, `BACKUP_S3_*`. */
  readonly isOwn: boolean;
  readonly endpoint: string;
  readonly accessKey: string;
  readonly secretKey: string;
  readonly region: string;
}

/**
 * All settings from the environment, read once at start. `@Env` or `@Secret` on a property names its variable and documents
 * it; `.env.example` is generated from it.
 */
export class Configuration {
  @Env(
    'NODE_ENV',
    'production: secrets have no defaults, configuration errors prevent the start',
    'development',
  )
  @IsIn(['development', 'test', 'production'])
  nodeEnv: string;

  @Env('PORT', 'listen port; 0 selects a free one and prints it', '8787')
  @WholeNumber(0, 65535)
  port: number;

  @Env('HOST', 'listen address; 0.0.0.0 for all interfaces', '127.0.0.1')
  @MinLength(1)
  host: string;

  @Env(
    'BASE_URL',
    'public address: issuer and audience of the JWTs, origin of the cookies; http://localhost:PORT when unset',
  )
  @IsUrl(HTTP_URL)
  @Matches(/^https?:\/\/[^/?#]+$/, {
    message: '$property must be an origin such as https://sync.example.org, without a path',
  })
  baseUrl?: string;

  @Env('DATA_DIR', 'embedded database, blobs on disk and secrets that are not set', './data')
  @MinLength(1)
  dataDir: string;

  @Secret('DATABASE_URL', 'an external PostgreSQL 15 or later; unset: an embedded PostgreSQL under DATA_DIR')
  @ServerUrl()
  @DatabaseParameters()
  @Matches(/^postgres(ql)?:\/\/\S+$/, { message: '$property must be a postgres:// URL' })
  databaseUrl?: string;

  @Env(
    'DATABASE_POOL_SIZE',
    'connections of this instance; all instances together stay below max_connections',
    '10',
  )
  @WholeNumber(2, 200)
  databasePoolSize: number;

  @Secret('REDIS_URL', 'event bus and rate limits across instances; unset: PostgreSQL is used')
  @ServerUrl()
  @Matches(/^rediss?:\/\/\S+$/, { message: '$property must be a redis:// or rediss:// URL' })
  redisUrl?: string;

  @Env('S3_ENDPOINT', 'any S3-compatible store, such as https://s3.example.org; unset: blobs on disk')
  @StoreAddress()
  s3Endpoint?: string;

  @Secret('S3_ACCESS_KEY', 'access key of the S3 store')
  s3AccessKey?: string;

  @Secret('S3_SECRET_KEY', 'secret key of the S3 store')
  s3SecretKey?: string;

  @Env('S3_BUCKET', 'bucket for the blobs; created if missing')
  @Matches(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, { message: '$property must be the name of a bucket' })
  s3Bucket?: string;

  @Env('S3_REGION', 'region of the bucket', 'us-east-1')
  @MinLength(1)
  s3Region: string;

  @Secret(
    'AUTH_SECRET',
    'secret of the identity handler, 32 characters or more; created once under DATA_DIR in development',
  )
  @MinLength(32)
  authSecret?: string;

  @Env('SIGNUP_ENABLED', 'whether POST /api/auth/sign-up/email creates accounts', 'true')
  @IsIn([true, false], { message: '$property must be true or false' })
  signupEnabled: boolean;

  @Secret(
    'SMTP_URL',
    'mail server: smtp://user:password@host:587 with STARTTLS, or smtps://; ?tls=off for a relay without TLS; unset: no mail',
  )
  @SmtpUrl()
  smtpUrl?: string;

  @Env('MAIL_FROM', 'sender of all mail: sync@example.org, or Example Sync <sync@example.org>')
  @MailSender()
  mailFrom?: string;

  @Env(
    'EMAIL_VERIFICATION',
    'required: a new account confirms its address before it can sign in, default with SMTP_URL; optional: it need not, default without',
  )
  @IsIn(['required', 'optional'], { message: '$property must be required or optional' })
  emailVerification?: string;

  @Env(
    'OIDC_ISSUER',
    'single sign-on: the issuer of an OpenID Connect provider, such as https://auth.example.org',
  )
  @IssuerAddress()
  oidcIssuer?: string;

  @Env('OIDC_CLIENT_ID', 'the name under which the provider knows this service')
  @MinLength(1)
  oidcClientId?: string;

  @Secret('OIDC_CLIENT_SECRET', 'the secret that belongs to OIDC_CLIENT_ID')
  @MinLength(1)
  oidcClientSecret?: string;

  @Env('OIDC_NAME', 'the provider as people know it: the button says "Continue with OIDC_NAME"')
  @MaxLength(64)
  oidcName?: string;

  @Env(
    'OIDC_ONLY',
    'true: people sign in through the provider alone, and passwords are switched off',
    'false',
  )
  @IsIn([true, false], { message: '$property must be true or false' })
  oidcOnly: boolean;

  @Secret(
    'DEV_LOGIN_KEY',
    'enables POST /api/v1/auth/dev-login for callers that know it; never in production',
  )
  @MinLength(1)
  devLoginKey?: string;

  @Env(
    'TRUSTED_ORIGINS',
    'additional browser origins, comma-separated; also those of web views, such as app://obsidian.md',
    undefined,
    { each: (text) => originOf(text) ?? text },
  )
  @TrustedOrigins()
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
  @WholeNumber(0, 365)
  billingGraceDays: number;

  @Secret(
    'PAYMENT_WEBHOOK_SECRET',
    'verifies payment events; several, comma-separated, while one is being replaced',
  )
  paymentWebhookSecrets: string[];

  @Secret('STRIPE_SECRET_KEY', 'key of the payment provider: opens portal-url and checkout-url')
  stripeSecretKey?: string;

  @Env('STRIPE_API_BASE', "the payment provider's address, for tests", 'https://api.stripe.com')
  @IsUrl(HTTP_URL)
  @Matches(/^https?:\/\/[^/?#]+\/?$/, { message: '$property must be an origin, without a path' })
  stripeApiBase: string;

  @Env('STRIPE_PRICE_ID', 'the price that checkout-url sells')
  stripePriceId?: string;

  @Env('BILLING_RETURN_URL', 'where portal and checkout return to; BASE_URL when unset')
  @IsUrl(HTTP_URL)
  billingReturnUrl?: string;

  @Env(
    'VAPID_PUBLIC_KEY',
    'public key for Web Push, created by `npm run admin -- vapid generate`; unset: no Web Push',
  )
  @Matches(/^[A-Za-z0-9_-]{87}$/, { message: '$property must be 87 base64url characters' })
  vapidPublicKey?: string;

  @Secret('VAPID_PRIVATE_KEY', 'the private key for VAPID_PUBLIC_KEY')
  @Matches(/^[A-Za-z0-9_-]{43}$/, { message: '$property must be 43 base64url characters' })
  vapidPrivateKey?: string;

  @Env('VAPID_SUBJECT', 'contact for push services: mailto:you@example.org or an https address')
  @Matches(/^(?:mailto:[^\s@]+@[^\s@]+|https:\/\/\S+)$/, {
    message: '$property must be a mailto: or https: address',
  })
  vapidSubject?: string;

  @Env('ASSET_QUOTA_FREE_BYTES', 'assets of an account without an active subscription', String(GIB))
  @WholeNumber(0)
  assetQuotaFreeBytes: number;

  @Env('ASSET_QUOTA_PRO_BYTES', 'assets of an account with an active subscription', String(50 * GIB))
  @WholeNumber(0)
  assetQuotaProBytes: number;

  @Env(
    'DOCUMENT_QUOTA_FREE_BYTES',
    'kept versions of files of an account without an active subscription; 0: unlimited',
    '0',
  )
  @WholeNumber(0)
  documentQuotaFreeBytes: number;

  @Env(
    'DOCUMENT_QUOTA_PRO_BYTES',
    'kept versions of files of an account with an active subscription; 0: unlimited',
    String(50 * GIB),
  )
  @WholeNumber(0)
  documentQuotaProBytes: number;

  @Env(
    'MIN_FREE_BYTES',
    'uploads and new checkpoints are refused while the disk of DATA_DIR has less free; 0: never; unset: 1 GiB or a twentieth of the disk, whichever is less',
  )
  @WholeNumber(0)
  minFreeBytes?: number;

  @Env('MAX_FILE_BYTES', 'largest file body in bytes', String(100 * MIB))
  @WholeNumber(0)
  maxFileBytes: number;

  @Env(
    'INLINE_BLOB_BYTES',
    'blobs up to this size are kept in PostgreSQL, larger ones in the blob store; 0: all in the store',
    String(64 * KIB),
  )
  @WholeNumber(0, MIB)
  inlineBlobBytes: number;

  @Env('RETENTION_CRON', 'when the nightly jobs run, UTC', '0 3 * * *')
  @IsFutureCron()
  retentionCron: string;

  @Env(
    'BACKUP_DIR',
    'existing directory for scheduled backups, or s3://bucket/prefix, of this service alone; unset: no scheduled backups',
  )
  @BackupPlace()
  @MinLength(1)
  backupDir?: string;

  @Env('BACKUP_CRON', 'when scheduled backups are made, UTC', '0 4 * * *')
  @IsFutureCron()
  backupCron: string;

  @Env('BACKUP_KEEP', 'how many verified scheduled backups are kept', '7')
  @WholeNumber(1, 1000)
  backupKeep: number;

  @Env(
    'BACKUP_S3_ENDPOINT',
    'the S3 store for backups in s3://bucket/prefix; unset: that of the blobs, with its keys and region',
  )
  @StoreAddress()
  backupS3Endpoint?: string;

  @Secret('BACKUP_S3_ACCESS_KEY', 'access key of the S3 store for backups')
  backupS3AccessKey?: string;

  @Secret('BACKUP_S3_SECRET_KEY', 'secret key of the S3 store for backups')
  backupS3SecretKey?: string;

  @Env('BACKUP_S3_REGION', 'region of the bucket for backups', 'us-east-1')
  @MinLength(1)
  backupS3Region: string;

  @Env('APP_SCHEME', 'scheme of the deep links to the app', 'cloudsync')
  @Matches(/^[a-z][a-z0-9+.-]*$/, { message: '$property must be a URL scheme in lower case' })
  appScheme: string;

  @Env('APP_NAME', 'the app behind APP_SCHEME-APP_NAME', 'desktop')
  @Matches(/^[a-z0-9][a-z0-9.-]*$/, {
    message: '$property must consist of lower-case letters, digits, dots and dashes',
  })
  appName: string;

  @Env('EDITOR_CALLBACK_URL', 'exact address to which the web sign-in returns')
  @CallbackAddress()
  @IsUrl(HTTP_URL)
  editorCallbackUrl?: string;

  @Env('ALT_CALLBACK_URL', 'a second callback address')
  @CallbackAddress()
  @IsUrl(HTTP_URL)
  altCallbackUrl?: string;

  @Env(
    'RATE_LIMIT_PER_MINUTE',
    '0 switches all rate limits off (tests, benchmarks, a limiter in front)',
    '1200',
  )
  @WholeNumber(0)
  rateLimitPerMinute: number;

  @Env('METRICS_PORT', 'Prometheus metrics at /metrics on a separate port; unset: no metrics')
  @WholeNumber(0, 65535)
  metricsPort?: number;

  @Env('LOG_LEVEL', 'JSON lines on stdout, pretty on a terminal', 'info')
  @IsIn(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
  logLevel: string;

  /** Environment variables that look like this service's but are unknown. */
  unknownVariables: readonly string[] = [];

  /** Public base URL, without a trailing slash. */
  get publicUrl(): string {
    return this.baseUrl ?? `http://localhost:${this.port}`;
  }

  /** Host and port of the public URL, as pages show it. */
  get publicHost(): string {
    return new URL(this.publicUrl).host;
  }

  get isHttps(): boolean {
    return this.publicUrl.startsWith('https:');
  }

  /** Whether users need a subscription; otherwise every user is active. */
  get hasSubscriptions(): boolean {
    return this.subscriptions === 'on';
  }

  get hasS3(): boolean {
    return this.s3Endpoint !== undefined;
  }

  /** The S3 store for backups: a separate one, or that of the blobs. */
  get backupStore(): BackupStore | undefined {
    const isOwn = this.backupS3Endpoint !== undefined;
    const endpoint = isOwn ? this.backupS3Endpoint : this.s3Endpoint;
    if (endpoint === undefined) return undefined;
    const accessKey = (isOwn ? this.backupS3AccessKey : this.s3AccessKey) ?? '';
    const secretKey = (isOwn ? this.backupS3SecretKey : this.s3SecretKey) ?? '';
    return { isOwn, endpoint, accessKey, secretKey, region: isOwn ? this.backupS3Region : this.s3Region };
  }

  /** Whether scheduled backups go into the bucket of the blobs, and would be lost with it. */
  get hasBackupsBesideBlobs(): boolean {
    const { backupDir, backupStore, s3Endpoint, s3Bucket } = this;
    if (backupDir === undefined || backupStore === undefined || s3Endpoint === undefined) return false;
    const isSameStore = new URL(backupStore.endpoint).host === new URL(s3Endpoint).host;
    return isSameStore && s3Address(backupDir)?.bucket === s3Bucket;
  }

  get hasWebPush(): boolean {
    return this.vapidPublicKey !== undefined;
  }

  /** Whether people can sign in through an OpenID Connect provider. */
  get hasSingleSignOn(): boolean {
    return this.oidcIssuer !== undefined;
  }

  get hasMail(): boolean {
    return this.smtpUrl !== undefined && this.mailFrom !== undefined;
  }

  /** Whether an account that signs up must confirm its address before it can sign in. */
  get requiresVerifiedEmail(): boolean {
    return this.hasMail && this.emailVerification !== 'optional';
  }

  get isProduction(): boolean {
    return this.nodeEnv === 'production';
  }
}
