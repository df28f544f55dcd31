import { type CanActivate, type ExecutionContext, Injectable, SetMetadata } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { afterBody } from '../http/index.js';
import { KillSwitch } from './kill-switch.js';

const OPEN = 'open-when-read-only';

/** The route goes on while the service is read-only, although its method could write: say why it may. */
export const OpenWhenReadOnly = (reason: string): MethodDecorator & ClassDecorator =>
  SetMetadata(OPEN, reason);

const READS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Before all other guards, and again after the body: 503 for what writes, while the service is read-only. */
@Injectable()
export class KillSwitchGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly killSwitch: KillSwitch,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const { raw } = context.switchToHttp().getRequest<FastifyRequest>();
    this.check(context);
    afterBody(raw, () => {
      this.killSwitch.refuseWhen('down');
      this.check(context);
    });
    return true;
  }

  private check(context: ExecutionContext): void {
    if (!this.mayGoOn(context)) this.killSwitch.refuseWhen('read-only');
  }

  private mayGoOn(context: ExecutionContext): boolean {
    const { method } = context.switchToHttp().getRequest<FastifyRequest>();
    const targets = [context.getHandler(), context.getClass()];
    return READS.has(method) || this.reflector.getAllAndOverride<unknown>(OPEN, targets) !== undefined;
  }
}
