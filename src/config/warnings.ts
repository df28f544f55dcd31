import type { Configuration } from './configuration.js';
import { isUnknown } from './unknown-variables.js';

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
