import { Module } from '@nestjs/common';
import { HealthController } from './health.controller.js';
import { ReadinessCheck } from '../../platform/readiness/readiness.js';

@Module({ controllers: [HealthController], providers: [ReadinessCheck], exports: [ReadinessCheck] })
export class HealthModule {}
