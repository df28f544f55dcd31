import { existsSync, readFileSync } from 'node:fs';
import type { Configuration } from './configuration.js';
import { hasByteOrderMark } from './env-file.js';
import type { Environment } from './validators.js';

/** Settings that are allowed but probably unintended; logged once at start. */
export function warningsAbout(configuration: Configuration): string[] {
  const warnings = configuration.unknownVariables.map(
    (name) => `${isUnknown(name)} and has no effect; is it misspelt?`,
  );
  if (configuration.hasBackupsBesideBlobs)
    warnings.push(
      'BACKUP_DIR is in the bucket of the blobs: whoever loses that bucket loses its backups too',
    );
  if (!configuration.isProduction) return warnings;
  if (configuration.rateLimitPerMinute === 0) {
    warnings.push('RATE_LIMIT_PER_MINUTE=0: rate limits are off');
  }
  if (configuration.devLoginKey)
    warnings.push('DEV_LOGIN_KEY is set: anyone who knows it can sign in as any user');
  if (!configuration.isHttps) warnings.push('BASE_URL is not https: tokens are sent unencrypted');
  if (configuration.hasSubscriptions && configuration.paymentWebhookSecrets.length === 0) {
    warnings.push(
      'PAYMENT_WEBHOOK_SECRET is not set: payment events are refused; without payments set SUBSCRIPTIONS=off',
    );
  }
  if (configuration.stripeSecretKey && !configuration.stripePriceId)
    warnings.push('STRIPE_PRICE_ID is not set: nothing can be bought');
  return warnings;
}

/** Prefixes of this service's variables that hardly any other program uses. */
// prettier-ignore
const OURS = [
  'ALT_CALLBACK', 'APP_', 'ASSET_QUOTA', 'AUTH_', 'BACKUP_', 'BASE_URL', 'BILLING_', 'DATABASE_', 'DATA_DIR',
  'DEV_LOGIN', 'EDITOR_', 'EMAIL_VERIF', 'INLINE_BLOB', 'LOG_LEVEL', 'MAIL_FROM', 'MAX_FILE', 'METRICS_', 'OIDC_', 'PAYMENT_', 'RATE_LIMIT',
  'REDIS_', 'RETENTION_', 'S3_', 'SIGNUP_', 'SMTP_URL', 'STRIPE_', 'SUBSCRIPTION', 'TRUST_', 'TRUSTED_', 'VAPID_',
];

/** Variables that Kubernetes sets in every container for other services, such as REDIS_PORT_6379_TCP. */
const SERVICE_LINK = /_SERVICE_(?:HOST|PORT)|_PORT(?:_\d+_(?:TCP|UDP).*)?$/;

export const isUnknown = (name: string): string => `${name} is not a variable of this service`;

/** Variables that look like this service's but are unknown, most likely misspelt. Only names are inspected. */
export function unknownVariables(environment: Environment, known: ReadonlySet<string>): string[] {
  return Object.keys(environment)
    .filter((name) => OURS.some((prefix) => name.startsWith(prefix)))
    .filter((name) => !known.has(name) && !SERVICE_LINK.test(name))
    .sort();
}

/** Reports known names that begin with a byte order mark, which the program that read them from a file did not remove. */
export function markedVariables(environment: Environment, known: ReadonlySet<string>): string[] {
  return Object.keys(environment)
    .filter((name) => hasByteOrderMark(name) && known.has(name.slice(1)))
    .map(
      (name) =>
        `${name.slice(1)} has a byte order mark before its name; save the file it comes from as UTF-8 without one`,
    );
}

/** Version of this service, from the nearest package.json above the sources or the build. */
export const VERSION = versionAbove(new URL('..', import.meta.url));

function versionAbove(directory: URL): string {
  const file = new URL('package.json', directory);
  if (!existsSync(file)) return versionAbove(new URL('..', directory));
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
