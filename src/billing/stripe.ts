import { createRequire } from 'node:module';
import type Stripe from 'stripe';

const require = createRequire(import.meta.url);

/** The payment provider's library, loaded when it is first used: 20 MB that a service without payments does without. */
export const stripe = (): typeof Stripe => require('stripe') as typeof Stripe;
