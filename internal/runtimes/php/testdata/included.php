<?php
function of_included() {
	dies();
}
call_user_func('of_included');
