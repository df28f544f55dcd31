import { Module } from '@nestjs/common';
import { SubscriptionController } from './subscription.controller.js';
import { SubscriptionGuard } from './subscription.guard.js';
import { Subscriptions } from './subscriptions.service.js';

@Module({
  controllers: [SubscriptionController],
  providers: [SubscriptionGuard, Subscriptions],
  exports: [SubscriptionGuard, Subscriptions],
})
export class BillingModule {}
