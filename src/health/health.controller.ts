import { Controller, Get } from '@nestjs/common';
import { Public, Unlimited } from '../auth/index.js';

@Controller('health')
export class HealthController {
  /** Liveness: the process answers. */
  @Get()
  @Unlimited()
  @Public('liveness says nothing about anybody')
  health(): { ok: true } {
    return { ok: true };
  }
}
