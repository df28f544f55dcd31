import type { Configuration } from './configuration.js';
import { hasByteOrderMark } from './env-file.js';
import type { Environment } from './env.decorator.js';

/** What is allowed but hardly meant; said once at start. */
export function warningsAbout(configuration: Configuration): string[] {
  const warnings = configuration.unknownVariables.map(
    (name) => `${isUnknown(name)}, and without effect; is it misspelt?`,
  );
  if (!configuration.isProduction) return warnings;
  if (configuration.rateLimitPerMinute === 0) {
    warnings.push('RATE_LIMIT_PER_MINUTE=0: no request is ever refused for coming too often');
  }
  if (configuration.devLoginKey) warnings.push('DEV_LOGIN_KEY is set: whoever knows it can be anybody');
  if (!configuration.isHttps) warnings.push('BASE_URL is not https: tokens travel in the clear');
  if (configuration.hasSubscriptions && configuration.paymentWebhookSecrets.length === 0) {
    warnings.push(
      'PAYMENT_WEBHOOK_SECRET is not set: payment events are refused; without payments set SUBSCRIPTIONS=off',
    );
  }
  if (configuration.stripeSecretKey && !configuration.stripePriceId)
    warnings.push('STRIPE_PRICE_ID is not set: nothing can be bought');
  return warnings;
}

/** What the names of this service's variables begin with, where hardly anybody else's do. */
// prettier-ignore
const OURS = [
  'ALT_CALLBACK', 'APP_', 'ASSET_QUOTA', 'AUTH_', 'BASE_URL', 'BILLING_', 'DATABASE_', 'DATA_DIR',
  'DEV_LOGIN', 'EDITOR_', 'EMAIL_VERIF', 'INLINE_BLOB', 'LOG_LEVEL', 'MAX_FILE', 'METRICS_', 'PAYMENT_', 'RATE_LIMIT',
  'REDIS_', 'RETENTION_', 'S3_', 'SIGNUP_', 'SMTP_URL', 'STRIPE_', 'SUBSCRIPTION', 'TRUST_', 'TRUSTED_', 'VAPID_',
];

/** What Kubernetes tells every container of the services beside it, such as REDIS_PORT_6379_TCP. */
const SERVICE_LINK = /_SERVICE_(?:HOST|PORT)|_PORT(?:_\d+_(?:TCP|UDP).*)?$/;

/** What is said of each. */
export const isUnknown = (name: string): string => `${name} is no variable of this service`;

/** Variables that look like this service's and are none: misspelt, most likely. Only their names are looked at. */
export function unknownVariables(environment: Environment, known: ReadonlySet<string>): string[] {
  return Object.keys(environment)
    .filter((name) => OURS.some((prefix) => name.startsWith(prefix)))
    .filter((name) => !known.has(name) && !SERVICE_LINK.test(name))
    .sort();
}

/** Faults of names of ours that begin with a byte order mark, which whatever has read them from a file did not drop. */
export function markedVariables(environment: Environment, known: ReadonlySet<string>): string[] {
  return Object.keys(environment)
    .filter((name) => hasByteOrderMark(name) && known.has(name.slice(1)))
    .map(
      (name) =>
        `${name.slice(1)} has a byte order mark before its name; save the file it comes from as UTF-8 without one`,
    );
}
