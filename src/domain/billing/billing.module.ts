import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '../auth/index.js';
import { PaymentCustomer } from './payment-customer.entity.js';
import { PaymentEventEntity } from './payment-event.entity.js';
import { PaymentEvents } from './payment-events.service.js';
import { PaymentProvider } from './payment-provider.js';
import { Customers, Purchases } from './purchases.service.js';
import { SubscriptionController } from './subscription.controller.js';
import { SubscriptionEntity } from './subscription.entity.js';
import { Subscriptions } from './subscriptions.service.js';
import { WebhookController } from './webhook.controller.js';
import { WebhookSignature } from './webhook-signature.js';

@Module({
  imports: [AuthModule, TypeOrmModule.forFeature([PaymentCustomer, PaymentEventEntity, SubscriptionEntity])],
  controllers: [SubscriptionController, WebhookController],
  providers: [Subscriptions, PaymentEvents, WebhookSignature, PaymentProvider, Customers, Purchases],
  exports: [Subscriptions, PaymentEvents, PaymentProvider, Purchases, Customers],
})
export class BillingModule {}
