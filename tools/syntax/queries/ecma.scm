(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression) (generator_function)]) @function
(variable_declarator name: (identifier) @name value: (class)) @class
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(class_declaration name: (_) @name) @class
(method_definition name: (_) @name) @method
(program (lexical_declaration "const" (variable_declarator name: (identifier) @name) @constant))
(program (lexical_declaration "let" (variable_declarator name: (identifier) @name) @variable))
(program (variable_declaration (variable_declarator name: (identifier) @name) @variable))
(program (export_statement (lexical_declaration "const" (variable_declarator name: (identifier) @name) @constant)))
(program (export_statement (lexical_declaration "let" (variable_declarator name: (identifier) @name) @variable)))
(program (export_statement (variable_declaration (variable_declarator name: (identifier) @name) @variable)))
(assignment_expression left: [(member_expression) (identifier) (subscript_expression)] @member) @assigned
(variable_declarator name: (identifier) @name value: (assignment_expression)) @assigned
(pair key: [(property_identifier) (private_property_identifier) (string)] @name value: [(arrow_function) (function_expression) (generator_function)]) @method
(assignment_expression left: (member_expression) right: (object (pair key: (property_identifier) @name @asked) @property))
(program (lexical_declaration (variable_declarator value: (object (pair key: (property_identifier) @name @asked) @property))))
(program (export_statement (lexical_declaration (variable_declarator value: (object (pair key: (property_identifier) @name @asked) @property)))))
(call_expression function: (_) @callee arguments: (arguments . [(string) (template_string)] @title . (_))) @test
((call_expression arguments: (arguments . [(identifier) (member_expression) (this)] @object . (string (string_fragment) @name) . [(arrow_function) (function_expression) (object)])) @property (#match? @name "^[A-Za-z_$][A-Za-z0-9_$]*$"))
((call_expression function: (member_expression object: (_) @object property: (property_identifier) @unused) arguments: (arguments . (string (string_fragment) @name))) @property (#match? @unused "^__define[GS]etter__$"))
((call_expression function: (member_expression property: (property_identifier) @unused) arguments: (arguments . (_) @object . (object (pair key: (property_identifier) @name) @property))) (#eq? @unused "defineProperties"))
(export_specifier alias: (identifier) @name) @alias
(function_expression name: (identifier) @name @inner) @function
(class name: (_) @name @inner) @class
(subscript_expression index: (string) @names)
(export_statement (namespace_export (identifier) @name) @alias)
