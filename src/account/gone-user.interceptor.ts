import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { catchError, type Observable } from 'rxjs';
import { isForeignKeyViolation } from '../platform/database/index.js';
import { Unauthorized } from '../platform/http/index.js';

/** What PostgreSQL calls a reference to users; a test holds the tables to it. */
const REFERENCE_TO_USER = /_user_id_fkey\d*$/;

/**
 * A request that was let in, and whose user was deleted before it wrote what is theirs: 401, as the next one will be.
 * Guards cannot see that coming.
 */
@Injectable()
export class GoneUserInterceptor implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(
      catchError((error: unknown) => {
        throw isForeignKeyViolation(error) && REFERENCE_TO_USER.test(constraintOf(error))
          ? new Unauthorized()
          : error;
      }),
    );
  }
}

function constraintOf(error: unknown): string {
  const { constraint, driverError } = error as { constraint?: string; driverError?: { constraint?: string } };
  return constraint ?? driverError?.constraint ?? '';
}
