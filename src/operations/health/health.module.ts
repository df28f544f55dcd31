import { Module } from '@nestjs/common';
import { ReadinessModule } from '../../platform/readiness/index.js';
import { HealthController } from './health.controller.js';

@Module({ imports: [ReadinessModule], controllers: [HealthController] })
export class HealthModule {}
